"""Streams a cloud over a growing set of bricks: every body sets the bits of the voxels that pass a test."""

import collections
import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.sampling.anchor import Array
from jaxkit.sampling.bits import EDGE, VOXELS
from jaxkit.sampling.bricks import LIMIT, brick_keys
from jaxkit.sampling.brickset import BrickSet, BudgetError, bytes_of, settled
from jaxkit.sampling.ellipsoids import Bodies, Cloud
from jaxkit.sampling.levels import levels as levels_of
from jaxkit.sampling.voxel_tests import INSIDE, OUTSIDE, ROWS, Shapes, Triple, limits, relation, spans, toward

BLOCK = 2**16
PAIRS = 2**17
TESTS = 2**14
FIRST_ROUND = 32
# In a brick that is touched everywhere and has this many voxels inside, the rest is cheaper to test point by point.
ENOUGH = 480
HALVES = 2
Masks = tuple[np.ndarray, list[np.ndarray]]


def stamp(
    cloud: Cloud, size: float, rules: tuple[str, ...], levels: tuple[int, int] | None, budget_bytes: int
) -> Masks:
    """The bricks `[B, 3]` of a cloud, and for each of several rules their bits `[B, 16]`: one pass over the cloud.

    A pair is a body and a brick that its upright box meets. Blocks of bodies are unrolled into batches of pairs of a
    fixed shape, so neither the sizes of bodies nor the chunks they come in change a program or a bit. A brick is
    tested as one cube first; then row by row, unless it lies outside or inside, or is done already: what counts as done
    depends on the pairs before. So each half of the bricks, as on a chessboard, has a thread that takes its pairs in
    the order of the cloud.

    Args:
      cloud: bodies.
      size: edge of a voxel in the units of the world.
      rules: of "touched", "inside", "center". With "touched" and "inside" together, a few voxels that lie inside are
        left out of bricks that are touched everywhere.
      levels: `(low, high)`: only bodies of these levels, both included; None: all.
      budget_bytes: what the set may take.

    Raises:
      BudgetError: before more than the budget is allocated.
    """
    enough = ENOUGH if len(rules) > 1 else VOXELS
    halves = [BrickSet(rules, budget_bytes // HALVES, enough) for _ in range(HALVES)]
    try:
        _in_order(_met, _stamp_pairs, _jobs(cloud, size, levels), halves)
    except BudgetError as error:
        most = bytes_of(sum(block.pairs for block in _blocks(cloud, size, levels)), len(rules))
        raise BudgetError(
            f"voxels of {size} take more than the {budget_bytes} bytes of budget_bytes, and up to {most}: use larger "
            "voxels or allow more"
        ) from error
    return settled(halves)


def _jobs(cloud: Cloud, size: float, levels: tuple[int, int] | None) -> Iterator[tuple["_Block", int, int]]:
    """Blocks, with the first and the last of a batch of their pairs."""
    for block in _blocks(cloud, size, levels):
        if block.too_many:
            raise BudgetError("a body meets more than 2**31 bricks")
        for first in range(0, block.pairs, PAIRS):
            yield block, first, min(first + PAIRS, block.pairs)


def _blocks(cloud: Cloud, size: float, levels: tuple[int, int] | None) -> Iterator["_Block"]:
    for _, bodies in cloud.chunks(BLOCK):
        yield _Block(bodies, cloud.anchor.step, size, levels)


class _Block:
    """A block of bodies in voxels, and its pairs in the order of the bodies."""

    def __init__(self, bodies: Bodies, step: float, size: float, levels: tuple[int, int] | None):
        shapes = _in_voxels(bodies, step, size, levels)
        self.shapes = jax.tree.map(jnp.asarray, shapes)
        self.low, self.count = spans(self.shapes)
        counts = np.prod([np.asarray(part, np.int64) for part in self.count], 0)
        self.ends = np.cumsum(counts)
        self.pairs = int(self.ends[-1])
        self.too_many = bool((counts >= 2**31).any())

    def unroll(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """For pairs from `first` to before `last`: the body, and the number of the brick in its box, int32."""
        counts = np.diff(np.clip(self.ends, first, last), prepend=first)
        body = np.repeat(np.arange(BLOCK, dtype=np.int32), counts)
        begins = np.concatenate([[0], self.ends[:-1]])
        local = np.arange(first, last) - np.repeat(begins, counts)
        return body, local.astype(np.int32)


def _in_voxels(bodies: Bodies, step: float, size: float, levels: tuple[int, int] | None) -> Shapes:
    """The bodies in voxels, padded with rows of zeros to a whole block. Host side, in float64 where it matters."""
    cell, offset, axes, quaternion = (np.asarray(leaf) for leaf in jax.tree.leaves(bodies))
    if levels is not None:
        level = levels_of(axes, step)
        axes = axes * ((level >= levels[0]) & (level <= levels[1]))[:, None].astype(np.float32)
    place = [(cell[:, axis] * np.float64(step) + offset[:, axis]) / size for axis in range(3)]
    voxel = [np.floor(part) for part in place]
    _check_extent(voxel, axes, size)
    rest = [_padded(part - whole, np.float32) for part, whole in zip(place, voxel, strict=True)]
    voxel = [_padded(whole, np.int32) for whole in voxel]
    axes = [_padded(axes[:, axis] / np.float32(size), np.float32) for axis in range(3)]
    quaternion = [_padded(quaternion[:, axis], np.float32) for axis in range(4)]
    return Shapes(tuple(voxel), tuple(rest), tuple(axes), tuple(quaternion), np.float32(step / size))


def _check_extent(voxel: list[np.ndarray], axes: np.ndarray, size: float) -> None:
    """Whether all bricks can be numbered: 2**20 on either side of the origin."""
    reach = 0.0 if not axes.size else float(axes.max()) / size
    far = reach + max((float(np.abs(part).max()) for part in voxel if part.size), default=0.0) + 1
    if not far < (LIMIT - 1) * EDGE:
        raise ValueError(
            f"voxels of {size} reach {far:.3g} voxels from the origin, and {LIMIT * EDGE} can be numbered: use voxels "
            f"larger than {size * far / (LIMIT * EDGE):.3g}, or sample with method='join', which has no grid"
        )


def _padded(part: np.ndarray, dtype: Any) -> np.ndarray:
    out = np.zeros(BLOCK, dtype)
    out[: len(part)] = part
    return out


class _Met(NamedTuple):
    """Pairs that meet, in the order of their bricks.

    Attributes:
      block: of the bodies.
      body: int32 `[P]`.
      brick: int32 `[3, P]`.
      inside: bool `[P]`, whether the whole brick lies inside.
      starts: where in the order each brick begins.
    """

    block: _Block
    body: np.ndarray
    brick: np.ndarray
    inside: np.ndarray
    starts: np.ndarray


def _met(block: _Block, first: int, last: int) -> list[_Met]:
    """The pairs from `first` to before `last` of a block that meet, for each half of the bricks."""
    body, local = block.unroll(first, last)
    brick, how = _meet(block.shapes, block.low, block.count, *_filled(PAIRS, body, local))
    brick, how = np.asarray(brick)[:, : len(body)], np.asarray(how)[: len(body)]
    half = np.where(how == OUTSIDE, HALVES, brick.sum(0, dtype=np.int32) % HALVES)
    found = []
    for number in range(HALVES):
        order, starts = _grouped(brick, np.flatnonzero(half == number))
        found.append(_Met(block, body[order], brick[:, order], how[order] == INSIDE, starts))
    return found


def _stamp_pairs(found: BrickSet, met: _Met) -> None:
    """Sets the bits of pairs. The first few pairs of each brick come first, as they may be enough."""
    if not met.body.size:
        return
    sizes = np.diff(met.starts, append=len(met.body))
    slot = np.repeat(found.slots(brick_keys(met.brick[:, met.starts].T)), sizes)
    found.fill(slot[met.inside])
    place = np.arange(len(slot)) - np.repeat(met.starts, sizes)
    low, high = 0, FIRST_ROUND
    while low < sizes.max():
        chosen = np.flatnonzero((place >= low) & (place < high) & ~found.is_done(slot))
        for begin in range(0, len(chosen), TESTS):
            some = chosen[begin : begin + TESTS]
            body, *brick = _filled(TESTS, met.body[some], *met.brick[:, some])
            found.add(slot[some], _test_rows(met.block.shapes, body, tuple(brick), rules=found.rules))
        low, high = high, 2 * high


def _grouped(brick: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The chosen columns of `brick` in the order of their keys, and where in it each brick begins."""
    if not chosen.size:
        return chosen, chosen
    key, high = np.zeros(len(chosen), np.uint64), 1
    for part in brick[:, chosen]:
        low, edge = int(part.min()), int(part.max()) - int(part.min()) + 1
        key, high = key * np.uint64(edge) + (part - np.int32(low)).astype(np.uint64), high * edge
    if high * PAIRS < 2**64:
        # One sort of packed numbers is several times faster than argsort.
        packed = np.sort(key * np.uint64(PAIRS) + np.arange(len(chosen), dtype=np.uint64))
        order, key = (packed % np.uint64(PAIRS)).astype(np.int64), packed // np.uint64(PAIRS)
    else:
        order = np.argsort(key, kind="stable")
        key = key[order]
    return chosen[order], np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))


def _filled(rows: int, *arrays: np.ndarray) -> list[np.ndarray]:
    """Arrays with zeros up to a fixed number of rows."""
    return [np.concatenate([part, np.zeros(rows - len(part), part.dtype)]) for part in arrays]


def _gathered(shapes: Shapes, body: Array) -> Shapes:
    take = lambda leaf: leaf.at[body].get(mode="promise_in_bounds") if leaf.ndim else leaf  # noqa: E731
    return jax.tree.map(take, shapes)


@jax.jit
def _meet(shapes: Shapes, low: Triple, count: Triple, body: Array, local: Array) -> tuple[Array, Array]:
    """The brick `[3, P]` of each pair and how the body meets it, `[P]` int8."""
    own = _gathered(shapes, body)
    first, width = ([part.at[body].get(mode="promise_in_bounds") for part in parts] for parts in (low, count))
    deep = jnp.maximum(width[2], 1)
    row, z = local // deep, local % deep
    wide = jnp.maximum(width[1], 1)
    brick = [first[0] + row // wide, first[1] + row % wide, first[2] + z]
    how = relation(limits(own, EDGE / 2), toward(own, brick, EDGE))
    return jnp.stack(brick), how


@functools.partial(jax.jit, static_argnames="rules")
def _test_rows(shapes: Shapes, body: Array, brick: Triple, *, rules: tuple[str, ...]) -> list[Array]:
    """For each rule the bytes `[P, 64]` of the rows of each pair's brick."""
    own = _gathered(shapes, body)
    own = own._replace(fine=jnp.broadcast_to(own.fine, body.shape))
    limit, center = jax.tree.map(lambda leaf: leaf[:, None], (limits(own, 0.5), toward(own, brick, EDGE)))
    row = jnp.arange(EDGE * EDGE, dtype=jnp.int32)[None, :]
    middle = (EDGE - 1) / 2
    x, y = (center[k] + index.astype(jnp.float32) - middle for k, index in ((0, row // EDGE), (1, row % EDGE)))
    return [ROWS[rule](limit, (x, y, center[2] - middle)) for rule in rules]


def _in_order(prepare: Callable, use: Callable, jobs: Iterable[tuple], halves: list[BrickSet]) -> None:
    """`use(half, part)` for the parts of every `prepare(*job)`: prepared side by side, used in order by each half."""
    with contextlib.ExitStack() as stack:
        ahead = stack.enter_context(ThreadPoolExecutor(HALVES))
        threads = [stack.enter_context(ThreadPoolExecutor(1)) for _ in halves]
        prepared, used = collections.deque(), collections.deque()

        def hand_over() -> None:
            parts = zip(threads, halves, prepared.popleft().result(), strict=True)
            used.append([thread.submit(use, half, part) for thread, half, part in parts])

        for job in jobs:
            prepared.append(ahead.submit(prepare, *job))
            if len(prepared) > HALVES:
                hand_over()
            if len(used) > HALVES:
                _wait(used.popleft())
        while prepared:
            hand_over()
        for futures in used:
            _wait(futures)


def _wait(futures: list[Future]) -> None:
    for future in futures:
        future.result()
