"""Uniform points in the union of a small cloud, as plain traced code: `jit` it, `vmap` it over keys and over clouds."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxkit.sampling.anchor import Array
from jaxkit.sampling.ball import in_ball
from jaxkit.sampling.counter import uniform_fine
from jaxkit.sampling.shape import BALL, rotation, square_radius, to_world

MOST_BODIES = 4096
MANY = 1 << 16
UNROLL = 4


class DenseDraw(NamedTuple):
    """Points of a union and what they say about its volume.

    Attributes:
      points: `[T, 3]` float32, in the coordinates of the centres.
      keep: `[T]` bool: the points with `keep` are independent and uniform in the union, the others mean nothing.
      source: `[T]` int32, the first body that covers a kept point.
      volume: `[]` float32, an unbiased estimate of the volume of the union.
      volume_stderr: `[]` float32, its standard error.
    """

    points: Array
    keep: Array
    source: Array
    volume: Array
    volume_stderr: Array


def sample_union_dense(
    key: Array, center: Array, semi_axes: Array, quaternion: Array, *, proposals: int, count: int | None = None
) -> DenseDraw:
    """Uniform points in the union of at most 4096 ellipsoids, each tested against all.

    A body is drawn with probability proportional to its volume, a point in it, and the point is kept if that body is
    the first, by row, of those that cover it; the volume is the sum of volumes times the mean of one over the number
    that cover (R. M. Karp, M. Luby and N. Madras, "Monte-Carlo approximation algorithms for enumeration problems",
    1989). Proposals are independent, so the first ones kept are as good as any.

    Args:
      key: a typed key.
      center: `[N, 3]` float32; put the origin near the cloud, for float32 is all there is.
      semi_axes: `[N, 3]` float32 radii. Rows of zeros are no bodies: pad clouds with them to `vmap` over clouds.
      quaternion: `[N, 4]` float32 unit (w, x, y, z).
      proposals: how many points are tried, T.
      count: without it all T points come back with `keep`. With it the first `count` that were kept; `keep` is then
        true throughout, or false at the end if they came short.

    Returns:
      `DenseDraw`. A cloud without volume, or with a NaN, keeps nothing.

    Raises:
      ValueError: for shapes that do not fit, more than 4096 bodies, and `count` beyond `proposals`.
    """
    _check(center, semi_axes, quaternion, proposals, count)
    choose, place = jax.random.split(key)
    matrix = rotation(quaternion)
    weights, scale = _weights(semi_axes)
    source = _choose(choose, weights, proposals)
    shift = _displacement(place, matrix, semi_axes, source)
    prior, other = _cover(center, matrix, semi_axes, source, shift)
    keep = (prior == 0) & (jnp.sum(weights) > 0)
    points = center[source] + jnp.stack(shift, -1)
    volume, stderr = _volume(jnp.sum(weights), scale, other)
    return _first(DenseDraw(points, keep, source, volume, stderr), count)


def _check(center, semi_axes, quaternion, proposals: int, count: int | None) -> None:
    shapes = {"center": (center, 3), "semi_axes": (semi_axes, 3), "quaternion": (quaternion, 4)}
    for name, (value, width) in shapes.items():
        if value.shape != (center.shape[0], width):
            raise ValueError(f"{name} must be [N, {width}] with N that of the centres, not {list(value.shape)}")
    if not 1 <= center.shape[0] <= MOST_BODIES:
        raise ValueError(f"1 to {MOST_BODIES} bodies, not {center.shape[0]}: take sample_union for larger clouds")
    if proposals < 1 or not 0 <= (count or 0) <= proposals:
        raise ValueError(f"proposals must be positive and at least count, not {proposals} and {count}")


def _weights(semi_axes: Array) -> tuple[Array, Array]:
    """Volumes `[N]` in units of `BALL * scale^3`, which cannot underflow for the bodies that matter."""
    scale = jnp.max(semi_axes)
    part = semi_axes / jnp.where(scale == 0, 1.0, scale)
    return part[:, 0] * part[:, 1] * part[:, 2], scale


def _choose(key: Array, weights: Array, proposals: int) -> Array:
    """Indices `[T]` with probabilities proportional to weights, each to a relative 10^-6 however small.

    By descent through a tree of sums. A cumulative sum in float32 would lose what is small beside the total.
    """
    depth = max(1, math.ceil(math.log2(weights.shape[0])))
    sums = [jnp.pad(weights, (0, 2**depth - weights.shape[0]))]
    for _ in range(depth - 1):
        sums.append(sums[-1][0::2] + sums[-1][1::2])
    index = jnp.zeros(proposals, jnp.int32)
    words = jax.random.bits(key, (depth, 2, proposals), jnp.uint32)
    for level, word in zip(reversed(sums), words, strict=True):
        left, right = level[2 * index], level[2 * index + 1]
        smaller = uniform_fine(*word) * (left + right) < jnp.minimum(left, right)
        index = 2 * index + (smaller == (right < left)).astype(jnp.int32)
    return jnp.minimum(index, weights.shape[0] - 1)


def _displacement(key: Array, matrix: tuple, semi_axes: Array, source: Array) -> tuple[Array, Array, Array]:
    """From the centre of each source to a uniform point in it."""
    first, second, third, height, azimuth = jax.random.bits(key, (5, len(source)), jnp.uint32)
    unit = in_ball((first, second, third), height, azimuth)
    own = [tuple(part[source] for part in row) for row in matrix]
    return to_world(own, tuple(semi_axes[source, axis] * part for axis, part in enumerate(unit)))


def _cover(center: Array, matrix: tuple, semi_axes: Array, source: Array, shift: tuple) -> tuple[Array, Array]:
    """How many bodies before its own, and how many but its own, cover each point: `[T]` int32 twice."""
    start = [center[source, axis] for axis in range(3)]

    def count(total: Array, body: tuple) -> tuple[Array, None]:
        index, middle, rows, radii = body
        beside = tuple(start[axis] - middle[axis] + shift[axis] for axis in range(3))
        hit = (square_radius(rows, radii, beside) <= 1) & (index != source)
        return total + jnp.where(hit, jnp.where(index < source, MANY + 1, 1), 0), None

    # Body by body, so that nothing of size [T, N] is stored.
    bodies = (jnp.arange(center.shape[0], dtype=jnp.int32), center, matrix, semi_axes)
    both, _ = jax.lax.scan(count, jnp.zeros(source.shape, jnp.int32), bodies, unroll=UNROLL)
    return both // MANY, both % MANY


def _volume(weight: Array, scale: Array, other: Array) -> tuple[Array, Array]:
    total, share = BALL * weight * scale**3, 1 / (1 + other.astype(jnp.float32))
    return total * jnp.mean(share), total * jnp.std(share) / math.sqrt(len(other))


def _first(draw: DenseDraw, count: int | None) -> DenseDraw:
    if count is None:
        return draw
    (order,) = jnp.nonzero(draw.keep, size=count, fill_value=0)
    keep = jnp.arange(count) < jnp.sum(draw.keep)
    return draw._replace(points=draw.points[order], keep=keep, source=draw.source[order])
