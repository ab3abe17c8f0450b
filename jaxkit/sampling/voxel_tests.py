"""How an ellipsoid meets a cube: never wrong about what lies outside or wholly inside, cheap in between.

All lengths are in voxels. Both tests look at the centre of the cube only:
- a cube with half edge h lies inside if its centre does, with room for the farthest corner in the norm of the body;
- it is touched only if its centre lies in the Minkowski sum of the body with the cube, and so in an ellipsoid around
  the sum of the body with the ball around the cube, in the box of the body's own axes and in the upright box, each
  grown by the cube. The outer ellipsoid alone would flood the neighbourhood of thin bodies.
The ellipsoid around the sum of two ellipsoids: Kurzhanski and Valyi, Ellipsoidal Calculus (1997), section 2.2.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxkit.sampling.anchor import Array
from jaxkit.sampling.bits import EDGE
from jaxkit.sampling.shape import half_extent, rotation, to_body

SLACK = 2.0**-19
FLAT = 2.0**-20
OUTSIDE, PARTLY, INSIDE = 0, 1, 2
Triple = tuple[Array, Array, Array]


class Shapes(NamedTuple):
    """Bodies in voxels, one array per number so that gathers are cheap.

    Attributes:
      voxel: the voxels of the centres, three int32 arrays.
      rest: how far in their voxels, three float32 arrays in [0, 1].
      semi_axes: three float32 arrays. All zero: no body.
      quaternion: four float32 arrays.
      fine: how many voxels a step of the cloud's anchor is long; positions are rounded to 2**-24 of a step.
    """

    voxel: Triple
    rest: Triple
    semi_axes: Triple
    quaternion: tuple[Array, Array, Array, Array]
    fine: Array


class Limits(NamedTuple):
    """What the two tests compare the centre of a cube with.

    Attributes:
      matrix: the rows of the body's rotation.
      outer: one over the semi-axes of an ellipsoid that holds the centre of every cube that the body touches.
      box: half the edges of a box in the body's own axes that does.
      upright: half the edges of an upright box that does.
      inverse: one over the semi-axes of the body.
      inner: the largest square radius of the centre of a cube that is wholly inside; negative if none can be.
    """

    matrix: tuple
    outer: Triple
    box: Triple
    upright: Triple
    inverse: Triple
    inner: Array


def limits(shapes: Shapes, half: float) -> Limits:
    """The limits for cubes with half edge `half`. Traced, elementwise.

    Slack: rotating a displacement and rounding positions move a place by less than `SLACK / 2` of these lengths.
    """
    matrix, axes = rotation(jnp.stack(shapes.quaternion, -1)), shapes.semi_axes
    slack = SLACK * (_largest(axes) + 4 * half + shapes.fine)
    around = 3 * half * half
    beta = jnp.sqrt(sum(axis * axis for axis in axes) / (3 * around))
    outer = [1 / (jnp.sqrt((1 + 1 / beta) * axis * axis + (1 + beta) * around) + slack) for axis in axes]
    box = [axes[k] + half * sum(jnp.abs(matrix[row][k]) for row in range(3)) + slack for k in range(3)]
    upright = [extent + half + slack for extent in half_extent(matrix, jnp.stack(axes, -1))]
    inverse = tuple(1 / axis for axis in axes)
    room = 1 - half * _corner(matrix, inverse) - 2 * slack * _largest(inverse)
    return Limits(matrix, tuple(outer), tuple(box), tuple(upright), inverse, jnp.where(room > 0, room * room, -1.0))


def relation(limit: Limits, d: Triple) -> Array:
    """`OUTSIDE`, `PARTLY` or `INSIDE` for cubes with their centres `d` from the body's, int8. Traced.

    What is called outside is not touched at all, and what is called inside is wholly inside; partly is anything else.
    """
    u = to_body(limit.matrix, d)
    touched = _square(u, limit.outer) <= 1
    for sides, reach in ((u, limit.box), (d, limit.upright)):
        for side, far in zip(sides, reach, strict=True):
            touched &= jnp.abs(side) <= far
    inside = _square(u, limit.inverse) * (1 + SLACK) <= limit.inner
    return touched.astype(jnp.int8) + (touched & inside).astype(jnp.int8)


def touched_rows(limit: Limits, d: Triple) -> Array:
    """A bit for each of 8 voxels along the third axis that may be touched; `d` leads to the first. uint8, traced."""
    u, slope = to_body(limit.matrix, d), limit.matrix[2]
    low, high = _chord(u, slope, limit.outer, 1.0, 1.0)
    for first, step, far in zip((*u, d[2]), (*slope, jnp.float32(1)), (*limit.box, limit.upright[2]), strict=True):
        over = 1 / jnp.where(jnp.abs(step) < FLAT, FLAT, step)
        middle, reach = -first * over, (far + EDGE * FLAT) * jnp.abs(over)
        reach = reach + SLACK * jnp.abs(middle)
        low, high = jnp.maximum(low, middle - reach), jnp.minimum(high, middle + reach)
    beside = (jnp.abs(d[0]) > limit.upright[0]) | (jnp.abs(d[1]) > limit.upright[1])
    return _between(low, jnp.where(beside, -1.0, high))


def inside_rows(limit: Limits, d: Triple) -> Array:
    """A bit for each of 8 voxels along the third axis that is wholly inside; `d` leads to the first. uint8, traced."""
    low, high = _chord(to_body(limit.matrix, d), limit.matrix[2], limit.inverse, limit.inner, -1.0)
    return _between(low, jnp.where(limit.inner > 0, high, -1.0))


def center_rows(limit: Limits, d: Triple) -> Array:
    """A bit for each of 8 voxels along the third axis with its centre in the body. uint8, traced.

    Tested one by one in the axes of the body: the ends of a chord would cancel for thin bodies.
    """
    u, slope, bits = to_body(limit.matrix, d), limit.matrix[2], jnp.uint32(0)
    for k in range(EDGE):
        there = [first + k * step for first, step in zip(u, slope, strict=True)]
        bits = bits | jnp.where(_square(there, limit.inverse) <= 1, jnp.uint32(1 << k), jnp.uint32(0))
    return bits.astype(jnp.uint8)


def _chord(u: Triple, slope: Triple, inverse: Triple, square: Array | float, side: float) -> tuple[Array, Array]:
    """Where `|(u + t slope) inverse|^2 <= square`, from t to t, too long by the rounding for `side` 1, short for -1.

    Rounding in `b^2 - a c` is within a few 2**-24 of `a c` by the Cauchy-Schwarz inequality.
    """
    first, step = ([part * scale for part, scale in zip(vector, inverse, strict=True)] for vector in (u, slope))
    over, c = 1 / sum(part * part for part in step), sum(part * part for part in first)
    middle = -sum(one * other for one, other in zip(first, step, strict=True)) * over
    half = middle * middle - (c - square - side * SLACK * (c + 1)) * over
    reach = jnp.sqrt(jnp.maximum(half, 0.0))
    reach = jnp.where(half < 0, -jnp.inf, reach + side * SLACK * (jnp.abs(middle) + reach))
    return middle - reach, middle + reach


def _between(low: Array, high: Array) -> Array:
    """The bits from `low` to `high`, as uint8."""
    first = jnp.clip(jnp.ceil(low), 0, EDGE).astype(jnp.uint32)
    count = jnp.clip(jnp.floor(high) + 1, 0, EDGE).astype(jnp.uint32)
    return (((jnp.uint32(1) << count) - 1) & ~((jnp.uint32(1) << first) - 1)).astype(jnp.uint8)


def _corner(matrix: tuple, inverse: Triple) -> Array:
    """The largest radius, in the norm of the body, of the corners of a cube with half edge 1."""
    squares = []
    for x, y in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        squares.append(_square([x * matrix[0][k] + y * matrix[1][k] + matrix[2][k] for k in range(3)], inverse))
    return jnp.sqrt(_largest(squares))


def _square(u: Triple, inverse: Triple) -> Array:
    return sum((part * scale) ** 2 for part, scale in zip(u, inverse, strict=True))


def _largest(parts: tuple | list) -> Array:
    return functools.reduce(jnp.maximum, parts)


ROWS = {"touched": touched_rows, "inside": inside_rows, "center": center_rows}


def toward(shapes: Shapes, cell: Triple, edge: int) -> Triple:
    """From the centres of bodies to the centres of cubes number `cell` (int32) with this whole `edge`. Traced."""
    parts = zip(cell, shapes.voxel, shapes.rest, strict=True)
    return tuple((edge * index - voxel).astype(jnp.float32) + (edge / 2 - rest) for index, voxel, rest in parts)


def span(shapes: Shapes) -> tuple[Triple, Triple]:
    """The first brick and the number of bricks along each axis of the upright box of each body, int32. Traced."""
    limit, low, count = limits(shapes, 0.5), [], []
    for voxel, rest, reach in zip(shapes.voxel, shapes.rest, limit.upright, strict=True):
        # The box of a body, not of the centres of the voxels that it touches.
        reach = reach - 0.5
        first, last = (voxel + jnp.floor(rest + side * reach).astype(jnp.int32) >> 3 for side in (-1, 1))
        low.append(first)
        count.append(jnp.where(_largest(shapes.semi_axes) > 0, last - first + 1, 0))
    return tuple(low), tuple(count)


spans = jax.jit(span)
