"""Sizes of bodies in powers of two: bodies of one level share a grid, and larger levels own what they share."""

import jax.numpy as jnp
import numpy as np

from jaxkit.sampling.anchor import Array
from jaxkit.sampling.shape import half_extent

LARGEST = 30


def levels(semi_axes: np.ndarray, step: float) -> np.ndarray:
    """`max(0, ceil(log2(D / step)))` of `[N, 3]` semi-axes, int32 `[N]`, D being the largest diameter and a thousandth.

    It bounds the upright box of the body whatever its rotation, and one product rounds alike everywhere: no two
    programs can disagree about a level. A row of zeros is of level 0.

    Raises:
      ValueError: if a body is more than 2**30 steps wide.
    """
    semi_axes = np.asarray(semi_axes, np.float32)
    # Column by column: a reduction over rows of three is several times slower.
    largest = np.maximum(np.maximum(semi_axes[:, 0], semi_axes[:, 1]), semi_axes[:, 2])
    return level_of(largest * np.float32(2.0 / step))


def level_of(width: np.ndarray, *, lowest: int = 0) -> np.ndarray:
    """The levels of boxes `[N]` float32 steps wide, `lowest` at least.

    Raises:
      ValueError: as `levels`.
    """
    fraction, power = np.frexp(width * np.float32(1.0 + 2.0**-10))
    level = np.maximum(power - (fraction == 0.5), lowest).astype(np.int32)
    if level.size and level.max() > LARGEST:
        raise ValueError(
            f"a body is {float(width.max()):.3g} steps wide, more than 2**{LARGEST}: "
            "the step of the anchor is too small for it"
        )
    return level


def reach(matrix: tuple, semi_axes: Array, step: Array) -> tuple[Array, Array, Array]:
    """Half the edges, in steps, of upright boxes that hold every place whose float32 test can pass. Traced.

    Rounding in the rotation and in the products of the test moves the surface by some 2e-7 of the largest axis,
    rounding of positions by 6e-8 of a step.
    """
    around = _around(semi_axes, step)
    return tuple(half / step * (1.0 + 2.0**-12) + around for half in half_extent(matrix, semi_axes))


def part_box(
    matrix: tuple, semi_axes: Array, middle: tuple, half: tuple, low: Array, high: Array, step: Array
) -> tuple[tuple, tuple]:
    """Middle and half edges, in steps, of the upright boxes around parts of bodies. Traced.

    Args:
      matrix: rotations of the bodies.
      semi_axes: `[B, 3]` radii.
      middle, half: the boxes of the whole bodies.
      low, high: `[B, 3]` limits of the parts in the bodies' own axes, in units of the radii.
      step: of the anchor.
    """
    low, high = jnp.clip(low, -1.0, 1.0), jnp.clip(high, -1.0, 1.0)
    inner, edge = ((high + sign * low) * (0.5 / step) * semi_axes for sign in (1.0, -1.0))
    around = _around(semi_axes, step)
    shifted, halves = [], []
    for row in range(3):
        shifted.append(middle[row] + sum(matrix[row][axis] * inner[:, axis] for axis in range(3)))
        extent = sum(jnp.abs(matrix[row][axis]) * edge[:, axis] for axis in range(3))
        halves.append(extent * (1.0 + 2.0**-12) + around)
    return tuple(shifted), tuple(halves)


def _around(semi_axes: Array, step: Array) -> Array:
    return 2.0**-18 * (semi_axes.max(-1) / step) + 2.0**-20
