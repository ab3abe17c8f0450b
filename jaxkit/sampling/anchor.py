"""Positions without loss of precision: a whole cell and a float32 rest, relative to a float64 origin."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array


class Position(NamedTuple):
    """Places in space: `origin + cell * step + offset`, see `Anchor`.

    Attributes:
      cell: `[..., 3]` int32.
      offset: `[..., 3]` float32 in [0, step].
    """

    cell: Array
    offset: Array


class Anchor(NamedTuple):
    """The frame of a cloud.

    Attributes:
      origin: world coordinates (x, y, z) of cell 0, float64.
      step: edge of a cell in the units of the world, a power of two, so that products with small ints are exact.
    """

    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    step: float = 1.0

    def place(self, world: np.ndarray) -> Position:
        """World coordinates `[..., 3]`, float64 on the host, as cells and offsets: exact to 6e-8 of a step.

        Raises:
          ValueError: if a coordinate is not finite or lies more than 2**31 steps from the origin.
        """
        steps = np.subtract(world, self.origin, dtype=np.float64)
        steps *= 1 / self.step
        cell = np.floor(steps)
        if not (-(2.0**31) <= cell.min(initial=0) and cell.max(initial=0) < 2.0**31):
            raise ValueError(f"coordinates must be finite and within 2**31 steps of {self.step} of {self.origin}")
        steps -= cell
        steps *= self.step
        return Position(cell.astype(np.int32), steps.astype(np.float32))

    def relative(self, position: Position) -> np.ndarray:
        """Coordinates `[..., 3]` float64 relative to the origin, on the host."""
        return position.cell * np.float64(self.step) + position.offset

    def to_float64(self, position: Position) -> np.ndarray:
        """World coordinates `[..., 3]` float64, on the host."""
        cell, offset = (np.asarray(part, np.float64) for part in position)
        return np.asarray(self.origin) + cell * self.step + offset


def fitted(
    low: np.ndarray, high: np.ndarray, finest: float, *, origin: tuple[float, float, float] | None = None
) -> Anchor:
    """The anchor of a cloud.

    Cells are as small as the smallest body, unless the cloud is more than 2**30 of them wide.

    Args:
      low: `[3]` float64, corner of a box around all bodies.
      high: `[3]` float64, the opposite corner.
      finest: diameter of the smallest body, measured along its longest axis.
      origin: world coordinates of cell 0. None: near the centre of the box, with few digits.

    Raises:
      ValueError: if the origin is not three finite numbers.
    """
    if origin is not None and not (np.shape(origin) == (3,) and np.isfinite(origin).all()):
        raise ValueError(f"origin must be three finite numbers, not {origin}")
    if not np.isfinite(finest):
        return Anchor() if origin is None else Anchor(tuple(map(float, origin)))
    near = tuple(map(float, origin)) if origin is not None else _short((low + high) / 2, float(np.max(high - low)))
    extent = 2 * float(np.max(np.abs([low - near, high - near])))
    step = max(2.0 ** math.floor(math.log2(finest)), 2.0 ** math.ceil(math.log2(extent)) * 2.0**-30)
    return Anchor(near, step)


def _short(center: np.ndarray, extent: float) -> tuple[float, float, float]:
    """`center` rounded to a power of ten between 1/100 and 1/10 of `extent`."""
    digits = 1 - math.floor(math.log10(extent))
    return tuple(round(float(value), digits) + 0.0 for value in center)


def displaced(position: Position, by: tuple[Array, Array, Array], step: Array) -> Position:
    """`position` moved `by` three float32 components, offsets brought back into [0, step]. Traced."""
    moved = [position.offset[..., axis] + by[axis] for axis in range(3)]
    whole = [jnp.floor(value / step) for value in moved]
    offset = jnp.stack([value - count * step for value, count in zip(moved, whole, strict=True)], -1)
    return Position(position.cell + jnp.stack(whole, -1).astype(jnp.int32), offset)


def difference(a: Position, b: Position, step: Array) -> tuple[Array, Array, Array]:
    """The float32 components of `a - b`: whole cells first, so nothing cancels. Traced."""
    cells = [(a.cell[..., axis] - b.cell[..., axis]).astype(jnp.float32) * step for axis in range(3)]
    rests = [a.offset[..., axis] - b.offset[..., axis] for axis in range(3)]
    return tuple(cell + rest for cell, rest in zip(cells, rests, strict=True))
