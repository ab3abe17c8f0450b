"""Ops that keep straight lines straight: turn, zoom, slant, shift, mirror, and change of perspective."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval, probability
from jaxkit.warp.frame import Frame
from jaxkit.warp.geometry import geometric
from jaxkit.warp.lattice import Lattice
from jaxkit.warp.stages import Affine, Homography

Array = jax.Array
CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1))


def rotate(*, degrees: tuple[float, float] = (-5.0, 5.0)) -> Op:
    """Turns the picture about its centre by an angle drawn uniformly; positive is counter-clockwise as displayed.

    The size is kept. The matrix is that of OpenCV's `getRotationMatrix2D` about ((W - 1) / 2, (H - 1) / 2).

    Raises:
      ValueError: when built, if `degrees` is not a finite (low, high).
    """
    ends = interval("degrees", degrees)
    return geometric("rotate", lambda key, spec: draw_uniform(key, ends), _turn)


def scale(*, factor: tuple[float, float] = (0.9, 1.1)) -> Op:
    """Zooms about the centre by a factor drawn uniformly, the same for both axes; above 1 enlarges. Keeps the size.

    The drawn value is the factor minus one. Downscaling by much aliases, since one bilinear read has no prefilter:
    use `resize` for that.

    Raises:
      ValueError: when built, if `factor` is not a (low, high) of positive numbers.
    """
    low, high = interval("factor", factor, least=1e-3)
    return geometric("scale", lambda key, spec: draw_uniform(key, (low - 1.0, high - 1.0)), _zoom)


def shear(*, degrees: tuple[float, float] = (-8.0, 8.0)) -> Op:
    """Slants the picture along x about its centre row; a positive angle leans tops to the right, as italics do.

    Raises:
      ValueError: when built, if `degrees` is not a (low, high) within (-89, 89).
    """
    ends = interval("degrees", degrees, least=-89.0, most=89.0)
    return geometric("shear", lambda key, spec: draw_uniform(key, ends), _slant)


def translate(*, fraction: tuple[float, float] = (-0.05, 0.05)) -> Op:
    """Shifts by a fraction of the width and one of the height, each drawn uniformly; positive is right and down.

    Raises:
      ValueError: when built, if `fraction` is not a (low, high) within [-1, 1].
    """
    ends = interval("fraction", fraction, least=-1.0, most=1.0)
    return geometric("translate", lambda key, spec: draw_uniform(key, ends, (2,)), _shift)


def flip(*, horizontal: float = 0.5, vertical: float = 0.0) -> Op:
    """Mirrors left-right and top-bottom, each with its own probability. Exact.

    Raises:
      ValueError: when built, if a probability is outside [0, 1].
    """
    chances = np.array([probability("horizontal", horizontal), probability("vertical", vertical)], np.float32)
    return geometric("flip", lambda key, spec: jax.random.bernoulli(key, chances), _mirror, pixels=_reverse)


def quarter_turn(*, turns: int = 1) -> Op:
    """Turns by `turns` times 90 degrees counter-clockwise, as `numpy.rot90`; odd turns swap height and width. Exact.

    Raises:
      ValueError: when built, if `turns` is not an int.
    """
    if type(turns) is not int:
        raise ValueError(f"turns must be an int, got {turns!r}")

    def move(_, frame):
        return _quarters(turns % 4, frame)

    return geometric("quarter_turn", lambda key, spec: (), move, neutral=turns % 4 == 0)


def perspective(*, strength: tuple[float, float] = (0.0, 0.06)) -> Op:
    """Moves the four corners and everything between by the homography that they fix. Keeps the size.

    Every corner moves by up to `strength` (drawn) times the width and the height, uniformly and on its own.
    Drawn: `[4, 2]` shifts as fractions, corners in the order top left, top right, bottom right, bottom left.

    Raises:
      ValueError: when built, if `strength` is not a (low, high) within [0, 0.45]; beyond, corners could cross.
    """
    ends = interval("strength", strength, least=0.0, most=0.45)

    def draw(key, spec):
        size_key, corner_key = jax.random.split(key)
        return draw_uniform(size_key, ends) * draw_uniform(corner_key, (-1.0, 1.0), (4, 2))

    return geometric("perspective", draw, _tilt)


def lengths(frame: Frame) -> tuple[Array, Array]:
    """The true height and width as float32."""
    return jnp.asarray(frame.extent[0], jnp.float32), jnp.asarray(frame.extent[1], jnp.float32)


def _about_centre(linear: tuple, frame: Frame) -> Affine:
    height, width = lengths(frame)
    x, y = (width - 1) / 2, (height - 1) / 2
    (a, b), (d, e) = linear
    return Affine(jnp.stack([a, b, x - a * x - b * y, d, e, y - d * x - e * y]).reshape(2, 3))


def _turn(degrees: Array, frame: Frame) -> tuple[Affine, Frame]:
    angle = jnp.deg2rad(degrees)
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return _about_centre(((cos, sin), (-sin, cos)), frame), frame


def _zoom(excess: Array, frame: Frame) -> tuple[Affine, Frame]:
    factor, zero = 1.0 + excess, jnp.zeros_like(excess)
    return _about_centre(((factor, zero), (zero, factor)), frame), frame


def _slant(degrees: Array, frame: Frame) -> tuple[Affine, Frame]:
    one, zero = jnp.ones_like(degrees), jnp.zeros_like(degrees)
    return _about_centre(((one, -jnp.tan(jnp.deg2rad(degrees))), (zero, one)), frame), frame


def _shift(fraction: Array, frame: Frame) -> tuple[Affine, Frame]:
    height, width = lengths(frame)
    one, zero = jnp.ones_like(width), jnp.zeros_like(width)
    matrix = jnp.stack([one, zero, fraction[0] * width, zero, one, fraction[1] * height]).reshape(2, 3)
    return Affine(matrix), frame


def _mirror(hits: Array, frame: Frame) -> tuple[Lattice, Frame]:
    height, width = lengths(frame)
    sign, last = jnp.where(hits, -1.0, 1.0), jnp.where(hits, jnp.stack([width, height]) - 1, 0.0)
    return Lattice((sign[0], sign[1]), (last[0], last[1])), frame


def _reverse(params: tuple, image: Array, before: Frame, after: Frame) -> Array | None:
    if not before.whole():
        return None
    ((across, down),) = params
    image = jnp.where(across, image[:, ::-1], image)
    return jnp.where(down, image[::-1], image)


def _quarters(turns: int, frame: Frame) -> tuple[Lattice, Frame]:
    (rows, columns), (height, width) = frame
    frame = Frame((columns, rows), (width, height)) if turns % 2 else frame
    bottom, right = (n - 1 if isinstance(n, int) else n.astype(jnp.float32) - 1 for n in (height, width))
    signs = {0: (1.0, 1.0), 1: (1.0, -1.0), 2: (-1.0, -1.0), 3: (-1.0, 1.0)}[turns]
    offsets = {0: (0.0, 0.0), 1: (0.0, right), 2: (right, bottom), 3: (bottom, 0.0)}[turns]
    return Lattice(signs, offsets, turned=turns % 2 == 1), frame


def _tilt(shifts: Array, frame: Frame) -> tuple[Homography, Frame]:
    height, width = lengths(frame)
    right, bottom = jnp.maximum(width - 1, 1.0), jnp.maximum(height - 1, 1.0)
    unit = np.array(CORNERS, np.float32) + shifts * jnp.stack([width / right, height / bottom])[None]
    (a, b, c), (d, e, f), (g, h, i) = _square_to(unit)
    matrix = [a, b * right / bottom, c * right, d * bottom / right, e, f * bottom, g / right, h / bottom, i]
    return Homography(jnp.stack(matrix).reshape(3, 3)), frame


def _square_to(corners: Array) -> tuple:
    """The homography from the unit square to four corners (Heckbert, "Fundamentals of Texture Mapping", 1989)."""
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = corners
    sum_x, sum_y = x0 - x1 + x2 - x3, y0 - y1 + y2 - y3
    dx1, dy1, dx2, dy2 = x1 - x2, y1 - y2, x3 - x2, y3 - y2
    area = dx1 * dy2 - dx2 * dy1
    g = (sum_x * dy2 - dx2 * sum_y) / area
    h = (dx1 * sum_y - sum_x * dy1) / area
    one = jnp.ones_like(g)
    return (x1 - x0 + g * x1, x3 - x0 + h * x3, x0), (y1 - y0 + g * y1, y3 - y0 + h * y3, y0), (g, h, one)
