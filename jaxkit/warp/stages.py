"""Coordinate stages: where the pixels of a picture go, and where those of the result come from.

A stage has two functions of coordinates in pixels, pixel centres at integers:
`push(x, y)` maps positions in the input picture to the output, `pull(x, y)` maps positions in the output back.
The coordinates of a regular grid enter as `x [1, W]` and `y [H, 1]` and broadcast; a stage that keeps them apart keeps
that shape, and later stages profit. Stages live inside one call; what is drawn and logged are plain numbers.
"""

from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp

from jaxkit.warp.read import read_bilinear

Array = jax.Array
HORIZON = 1e-3
INVERSION_STEPS = 12


class Stage(Protocol):
    """A map of the plane with its inverse."""

    def pull(self, x: Array, y: Array) -> tuple[Array, Array]: ...

    def push(self, x: Array, y: Array) -> tuple[Array, Array]: ...


class Affine(NamedTuple):
    """`matrix [2, 3]` maps (x, y, 1) of the input to the output."""

    matrix: Array

    def push(self, x: Array, y: Array) -> tuple[Array, Array]:
        return _affine(self.matrix, x, y)

    def pull(self, x: Array, y: Array) -> tuple[Array, Array]:
        (a, b, c), (d, e, f) = self.matrix
        area = a * e - b * d
        inverse = ((e / area, -b / area, (b * f - c * e) / area), (-d / area, a / area, (c * d - a * f) / area))
        return _affine(inverse, x, y)


class Homography(NamedTuple):
    """`matrix [3, 3]` maps homogeneous (x, y, 1) of the input to the output.

    Beyond the horizon, where the scale would vanish or turn negative, it is held at a small positive value.
    """

    matrix: Array

    def push(self, x: Array, y: Array) -> tuple[Array, Array]:
        return _project(self.matrix, x, y)

    def pull(self, x: Array, y: Array) -> tuple[Array, Array]:
        (a, b, c), (d, e, f), (g, h, i) = self.matrix
        adjugate = (
            (e * i - f * h, c * h - b * i, b * f - c * e),
            (f * g - d * i, a * i - c * g, c * d - a * f),
            (d * h - e * g, b * g - a * h, a * e - b * d),
        )
        return _project(adjugate, x, y)


class Displacement(NamedTuple):
    """The output at p comes from p + d(p), d a cubic B-spline over the picture.

    `grid [gh, gw, 2]` holds control values (x, y) in pixels, gh and gw at least 4. Node 1 lies on the left (top) edge
    of the picture and node n - 2 on the right (bottom) edge; beyond the picture d continues its edge value.
    No displacement exceeds the largest control value. `push` inverts by fixed-point iteration, exact to about
    1e-4 px while control values stay below half the distance of nodes.
    """

    grid: Array
    height: Array
    width: Array
    size: tuple[int, int]

    def pull(self, x: Array, y: Array) -> tuple[Array, Array]:
        if x.shape[0] == 1 and y.shape[1] == 1:
            dx, dy = self._on_grid(x[0], y[:, 0])
        else:
            dx, dy = self._at_pixels(x, y)
        return x + dx, y + dy

    def push(self, x: Array, y: Array) -> tuple[Array, Array]:
        # A loop over a function that is there once and for all compiles once, also outside a compiled program.
        start = (self.grid, jnp.asarray(self.height), jnp.asarray(self.width), (x, y), (x, y))
        return jax.lax.fori_loop(0, INVERSION_STEPS, _towards_source, start)[-1]

    def _on_grid(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Displacements `[H, W]` at the crossings of columns `x [W]` and rows `y [H]`: a few sums per pixel."""
        across, down = self._weights(x, y)
        # Not a matrix product: its order of summation, and so the last bit, changes with the batch size.
        along = (self.grid[..., None] * across.T[None, :, None, :]).sum(1)
        dx, dy = (sum(down[:, i, None] * row[None] for i, row in enumerate(along[:, k])) for k in (0, 1))
        return dx, dy

    def _at_pixels(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Displacements at any places, bilinear between those of whole pixels; off by about 0.01 px,
        0.03 in the outermost half pixel."""
        rows, columns = (jnp.arange(length, dtype=jnp.float32) for length in self.size)
        field = jnp.stack(self._on_grid(columns, rows), -1)
        moved = read_bilinear(field, x, y, (self.height, self.width), "edge", 0.0)
        return moved[..., 0], moved[..., 1]

    def _at_points(self, x: Array, y: Array) -> tuple[Array, Array]:
        across, down = self._weights(x, y)
        moved = (down[..., :, None, None] * across[..., None, :, None] * self.grid[(None,) * x.ndim]).sum((-3, -2))
        return moved[..., 0], moved[..., 1]

    def _weights(self, x: Array, y: Array) -> tuple[Array, Array]:
        rows, columns, _ = self.grid.shape
        return _spline(x, self.width, columns), _spline(y, self.height, rows)


def _towards_source(_, state: tuple) -> tuple:
    grid, height, width, (x, y), guess = state
    dx, dy = Displacement(grid, height, width, ())._at_points(*guess)
    return grid, height, width, (x, y), (x - dx, y - dy)


def _affine(matrix, x: Array, y: Array) -> tuple[Array, Array]:
    (a, b, c), (d, e, f) = matrix
    return a * x + b * y + c, d * x + e * y + f


def _project(matrix, x: Array, y: Array) -> tuple[Array, Array]:
    top, (g, h, i) = matrix[:2], matrix[2]
    u, v = _affine(top, x, y)
    scale = jnp.maximum((g * x + h * y + i) / i, HORIZON) * i
    return u / scale, v / scale


def _spline(position: Array, length: Array, nodes: int) -> Array:
    """Weights `[..., nodes]` of the uniform cubic B-spline (de Boor, "A Practical Guide to Splines", 1978)."""
    node = 1.0 + jnp.clip((position + 0.5) / length, 0.0, 1.0) * (nodes - 3)
    numbers = jnp.arange(nodes, dtype=jnp.float32).reshape((1,) * position.ndim + (nodes,))
    distance = jnp.abs(node[..., None] - numbers)
    far, near = jnp.maximum(2.0 - distance, 0.0), jnp.maximum(1.0 - distance, 0.0)
    return far * far * far / 6.0 - near * near * near * (4.0 / 6.0)
