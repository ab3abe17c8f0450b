"""The compiled heart of the join: a block of bodies against the points of a grid, all pairs that could be hits.

Every stage ends in memory (`apart`): fused into one another, each of the thirty reads of a test would repeat the
search for the pair, at twenty times the cost.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxkit.boundary import apart
from jaxkit.sampling.anchor import Array
from jaxkit.sampling.ellipsoids import Bodies
from jaxkit.sampling.grid import ACROSS, COLUMNS, SOURCE, SOURCE_LEVEL, Grid, bounds, keys
from jaxkit.sampling.levels import part_box, reach
from jaxkit.sampling.shape import rotation

BLOCK = 2**16
PAIRS = 2**17
MOST = 2**30
"""Pairs that one pass over the bodies takes, so that their numbers fit in an int32: an equal share of each body."""
WIDTH = 64
NOBODY = 2**31 - 1


class Block(NamedTuple):
    """Bodies that are looked up in one grid.

    Attributes:
      bodies: `[BLOCK]` rows; rows of zeros fill up.
      id: `[BLOCK]` int32, their rows in the cloud.
      level: `[]` int32, their level.
      low, high: `[BLOCK, 3]` float32, or None: only the part of a body counts whose coordinates in its own axes, in
        units of its radii, lie in [low, high).
    """

    bodies: Bodies
    id: Array
    level: Array
    low: Array | None = None
    high: Array | None = None


class _Ranges(NamedTuple):
    """Where the candidates of bodies lie: the first ends[0] of body b at base[b], up to ends[1] at base[B + b], ..."""

    base: Array
    ends: list[Array]


def candidates(grid: Grid, block: Block, step: Array) -> Array:
    """How many points of the grid each body is tested against, `[BLOCK]` int32. Traced."""
    return _ranges(grid, block, rotation(block.bodies.quaternion), step).ends[-1]


def join(grid: Grid, tally: Array, block: Block, step: Array, *, counted: str) -> tuple[Array, Array]:
    """`tally` of the grid's points with the hits of a block, and a small array that is ready when it is. Traced.

    Args:
      grid: the points.
      tally: `[capacity]` int32, in the order of the grid.
      block: the bodies.
      step: of the anchor, float32.
      counted: "any", "other" or "prior" add one for a hit; "owner" takes the minimum of ids.
    """
    matrix = rotation(block.bodies.quaternion)
    scaled = [matrix[row][axis] / block.bodies.semi_axes[:, axis] for axis in range(3) for row in range(3)]
    ranges = _ranges(grid, block, matrix, step)
    test = functools.partial(_test, counted=counted)

    def one_batch(state):
        done, size, first, skip, tally = state
        body = _expanded(first, done)
        point = apart(_located, body, first - skip, ranges, done, size, grid.points)
        hit = apart(test, body, point, grid, block, scaled, step)
        hit = hit & (done + jnp.arange(PAIRS, dtype=jnp.int32) < size)
        return done + PAIRS, size, first, skip, _tallied(tally, point, body, hit, block, counted)

    def one_pass(state):
        skip, tally = state
        now, last, share = _shared(ranges.ends[-1], skip)
        batches = (jnp.int32(0), last[-1], last - now, skip, tally)
        return skip + share, jax.lax.while_loop(lambda state: state[0] < state[1], one_batch, batches)[-1]

    longest = jnp.max(ranges.ends[-1])
    skip, tally = jax.lax.while_loop(lambda state: state[0] < longest, one_pass, (jnp.int32(0), tally))
    return tally, skip


def running_sum(values: Array) -> Array:
    """Inclusive sums of `[n]` int32, where n is a multiple of 64 and 64 neighbours never sum up to 2**24.

    Within rows of 64 a product with a triangle of ones: several times faster on CPUs than `jnp.cumsum`, and as exact.
    """
    rows = values.reshape(-1, WIDTH).astype(jnp.float32)
    upper = jnp.triu(jnp.ones((WIDTH, WIDTH), jnp.float32))
    inner = jnp.dot(rows, upper, precision="highest").astype(jnp.int32)
    total = inner[:, -1]
    return (inner + (jnp.cumsum(total) - total)[:, None]).reshape(-1)


def _ranges(grid: Grid, block: Block, matrix: tuple, step: Array) -> _Ranges:
    center, half = block.bodies.center, reach(matrix, block.bodies.semi_axes, step)
    middle = tuple(center.offset[:, axis] / step for axis in range(3))
    if block.low is not None:
        middle, half = part_box(matrix, block.bodies.semi_axes, middle, half, block.low, block.high, step)
    low, high = bounds(center.cell, middle, half, grid.level)
    real = block.bodies.semi_axes[:, 0] > 0
    base, ends, end = [], [], jnp.zeros_like(block.id)
    for y, z in ((y, z) for z in range(ACROSS) for y in range(ACROSS)):
        # Indices of very fine cells wrap around, their differences do not.
        inside = real & (y <= high[1] - low[1]) & (z <= high[2] - low[2])
        key = keys([low[0], low[1] + y, low[2] + z], grid.shift)
        first, last = (_at(grid.start, index) for index in (key, key + (high[0] - low[0] + 1)))
        base.append(first - end)
        end = end + jnp.where(inside, last - first, 0)
        ends.append(end)
    return _Ranges(jnp.concatenate(base), ends)


def _shared(count: Array, skip: Array) -> tuple[Array, Array, Array]:
    """How many candidates of each body a pass takes, their running sum, and the most it takes of one body."""
    left = jnp.maximum(count - skip, 0)
    share = jnp.minimum(MOST // jnp.sum((left > 0).astype(jnp.int32)), jnp.max(left))
    now = jnp.minimum(left, share)
    # Sums of 64 values below 2**15 are exact in float32.
    return now, (running_sum(now >> 15) << 15) + running_sum(now & 0x7FFF), share


def _expanded(first: Array, done: Array) -> Array:
    """The body of each pair of a batch, from the numbers of the bodies' first pairs."""
    before = jnp.sum((first < done).astype(jnp.int32))
    places = jnp.where(first < done, PAIRS, first - done)
    marks = jnp.zeros(PAIRS, jnp.int32).at[places].add(1, mode="drop")
    return apart(lambda sums, before: jnp.clip(sums + before - 1, 0, BLOCK - 1), running_sum(marks), before)


def _located(body: Array, first: Array, ranges: _Ranges, done: Array, size: Array, points: Array) -> Array:
    """The point of each pair."""
    pair = done + jnp.arange(PAIRS, dtype=jnp.int32)
    within = pair - _at(first, body)
    row = sum((within >= _at(end, body)).astype(jnp.int32) for end in ranges.ends[:-1])
    point = jnp.where(pair < size, within + _at(ranges.base, row * BLOCK + body), 0)
    return jnp.where(point >= points, point - points, point)


def _test(body: Array, point: Array, grid: Grid, block: Block, scaled: list, step: Array, *, counted: str) -> Array:
    """Whether the body of each pair counts for its point. As `square_radius`, with the products shared by a body."""
    column: Callable = lambda index: _at(grid.rows, point * COLUMNS + index)  # noqa: E731
    cell, offset = block.bodies.center
    d = []
    for axis in range(3):
        whole = (column(axis) - _at(cell[:, axis], body)).astype(jnp.float32) * step
        rest = jax.lax.bitcast_convert_type(column(3 + axis), jnp.float32) - _at(offset[:, axis], body)
        d.append(whole + rest)
    u = [sum(_at(scaled[3 * axis + row], body) * d[row] for row in range(3)) for axis in range(3)]
    hit = sum(part * part for part in u) <= 1.0
    if block.low is not None:
        for axis in range(3):
            hit = hit & (u[axis] >= _at(block.low[:, axis], body)) & (u[axis] < _at(block.high[:, axis], body))
    if counted == "other":
        hit = hit & (_at(block.id, body) != column(SOURCE))
    if counted == "prior":
        earlier = (block.level == column(SOURCE_LEVEL)) & (_at(block.id, body) < column(SOURCE))
        hit = hit & ((block.level > column(SOURCE_LEVEL)) | earlier)
    return hit


def _tallied(tally: Array, point: Array, body: Array, hit: Array, block: Block, counted: str) -> Array:
    if counted == "owner":
        return tally.at[point].min(jnp.where(hit, _at(block.id, body), NOBODY), mode="promise_in_bounds")
    return tally.at[point].add(hit.astype(jnp.int32), mode="promise_in_bounds")


def _at(array: Array, index: Array) -> Array:
    return array.at[index].get(mode="promise_in_bounds")
