"""Ops that bend the picture."""

import jax

from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval, size_pair
from jaxkit.warp.affine import lengths
from jaxkit.warp.frame import Frame
from jaxkit.warp.geometry import geometric
from jaxkit.warp.stages import Displacement

Array = jax.Array


def elastic(*, pixels: tuple[float, float] = (0.0, 3.0), grid: tuple[int, int] = (4, 16)) -> Op:
    """Bends the picture by a smooth random displacement, a cubic B-spline on a coarse grid.

    Drawn: control values `[gh, gw, 2]` in pixels, uniform within plus and minus a strength drawn from `pixels`,
    which no displacement exceeds. The field is interpolated, not filtered, so it costs next to nothing, and its inverse
    moves points along. As the last of a `fuse` it is cheapest.

    Args:
      pixels: the largest displacement, in pixels.
      grid: control nodes (down, across), each at least 4: `n - 3` spans cover an axis.

    Raises:
      ValueError: when built, if `pixels` is not a non-negative (low, high), or the grid is smaller than (4, 4).
    """
    ends = interval("pixels", pixels, least=0.0)
    rows, columns = size_pair("grid", grid, least=4)

    def draw(key, spec):
        size_key, node_key = jax.random.split(key)
        return draw_uniform(size_key, ends) * draw_uniform(node_key, (-1.0, 1.0), (rows, columns, 2))

    return geometric("elastic", draw, _bend)


def _bend(nodes: Array, frame: Frame) -> tuple[Displacement, Frame]:
    height, width = lengths(frame)
    return Displacement(nodes, height, width, frame.size), frame
