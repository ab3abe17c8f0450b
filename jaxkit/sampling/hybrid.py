"""Points of a union from its voxels: most need no test, however many bodies overlap.

Two tiers own the places of the union. What a body of the bricks covers belongs to the voxel around it; the rest belongs
to the small bodies left out of the bricks, by the rule of the join. Every touched voxel receives a Poisson process of
the same density; its points survive where a body of the bricks covers them, which is known without a test in voxels
that lie inside. Survivors of both tiers together are one Poisson process on the union, as in `drop`.
"""

import functools
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.sampling.anchor import Anchor, Array, Position
from jaxkit.sampling.arrival import arrivals
from jaxkit.sampling.batches import by_batches
from jaxkit.sampling.bits import EDGE, select_in_brick, test_bit
from jaxkit.sampling.counter import stream, threefry, uniform
from jaxkit.sampling.drop import BLOCK, THREADS, Dropped, drop, mapped
from jaxkit.sampling.join import covers
from jaxkit.sampling.occupancy import OfLevels, UnionIndex
from jaxkit.sampling.shape import BALL


class Survivors(NamedTuple):
    """Points of a union, a Poisson process of the density that was asked for.

    Attributes:
      points: `Dropped`; the source and level of a point from a voxel are -1: not yet known.
      proposals: how many points were dropped.
      sure: how many were in voxels that lie inside.
      tested: how many were in other voxels.
      passed: how many of these survived.
      small: how many survived in bodies that are not in the bricks.
    """

    points: Dropped
    proposals: int
    sure: int
    tested: int
    passed: int
    small: int


def survivors(
    key: Array,
    index: UnionIndex,
    density: float,
    *,
    epoch: int = 0,
    above: float = 0.0,
    stratified: bool = False,
    chunk: int = 2**20,
    mesh: jax.sharding.Mesh | None = None,
) -> Survivors:
    """Poisson points of the union, `density` of them per unit of volume.

    Args:
      key: a typed key. Points depend on the key, the epoch and the cloud, not on chunks, devices or the density.
      index: of the cloud, by `build_index`.
      density: points per unit of volume.
      epoch, above, stratified, chunk: as in `drop`.
      mesh: as in `covers`.
    """
    proposed, sure = _in_voxels(key, index, density, epoch, above, stratified)
    rest = np.flatnonzero(~sure)
    covered = covers(index.cloud, _rows(proposed.position, rest), levels=index.levels, chunk=chunk, mesh=mesh) > 0
    keep = sure.copy()
    keep[rest] = covered
    kept, dropped = [_rows(proposed, np.flatnonzero(keep))], len(sure)
    if index.has_small():
        small = drop(
            key, OfLevels(index.cloud, (0, index.levels[0] - 1)), density, epoch=epoch, above=above,
            stratified=stratified, chunk=chunk,
        )  # fmt: skip
        dropped += len(small.tag)
        kept.append(_outside_bricks(index, small, chunk, mesh))
    points = jax.tree.map(lambda *leaves: np.concatenate(leaves), *kept)
    return Survivors(points, dropped, int(sure.sum()), len(rest), int(covered.sum()), len(points.tag) - int(keep.sum()))


def volume(index: UnionIndex, found: Survivors, density: float) -> tuple[float, float]:
    """The volume of the union and its standard error, from survivors of this density.

    What lies inside is known; the share of the other voxels is measured, and so are the small bodies.
    """
    low = index.inside.volume()
    doubtful, share = index.touched.volume() - low, found.passed / max(found.tested, 1)
    variance = doubtful**2 * share * (1 - share) / max(found.tested, 1) + found.small / density**2
    return low + doubtful * share + found.small / density, float(np.sqrt(variance))


def _in_voxels(
    key: Array, index: UnionIndex, density: float, epoch: int, above: float, stratified: bool
) -> tuple[Dropped, np.ndarray]:
    """Points in touched voxels, and whether their voxels lie inside."""
    step = index.anchor.step
    # Time runs as in the drop into bodies, so that the tags of both can be compared.
    low, high = (np.float32(value * BALL * step**3) for value in (above, density))
    seeds = [stream(key, f"voxel {name}", index=epoch) for name in ("arrival", "place")]
    share = np.float32(2.0 ** (3 * index.power) / BALL)

    def of_bricks(first: int) -> tuple[Dropped, np.ndarray]:
        rows = np.arange(first, min(first + BLOCK, len(index.counts)), dtype=np.uint32)
        rate = index.counts[rows].astype(np.float32) * share
        fallen = arrivals(seeds[0], rows, rate, low, high, even=stratified)
        row = rows[fallen.row]
        program = functools.partial(_place, seeds[1], np.float32(step), np.int32(index.power))
        bits = (index.touched.bits[row], index.inside.bits[row])
        cell, offset, sure, tie = by_batches(
            program, row, fallen.lane, index.counts[row], index.touched.brick[row], *bits
        )
        tag = fallen.time.view(np.uint32).astype(np.uint64) << np.uint64(32) | tie
        unknown = np.full(len(row), -1, np.int32)
        return Dropped(Position(cell, offset), unknown, unknown, tag), sure

    with ThreadPoolExecutor(THREADS) as pool:
        parts = list(mapped(pool, of_bricks, range(0, max(len(index.counts), 1), BLOCK)))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


@jax.jit
def _place(
    seed: Array, step: Array, power: Array, brick: Array, lane: Array, count: Array, corner: Array, touched: Array,
    inside: Array,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """A uniform place in a uniform touched voxel of each brick, whether it is surely covered, and a word."""
    (choice, x), (y, z), (tie, _) = (threefry(seed, brick, lane * 3 + call) for call in range(3))
    bit = select_in_brick(touched, _below(count.astype(jnp.uint32), choice))
    cells, offsets = [], []
    for axis, (word, place) in enumerate(zip((x, y, z), (bit // EDGE**2, bit // EDGE % EDGE, bit % EDGE), strict=True)):
        cell, offset = _in_cells(corner[:, axis] * EDGE + place, uniform(word), power)
        cells.append(cell)
        offsets.append(offset * step)
    return jnp.stack(cells, -1), jnp.stack(offsets, -1), test_bit(inside, bit), tie


def _below(count: Array, word: Array) -> Array:
    """`floor(word * count / 2**32)` for counts up to 2**15, int32: uniform below the count but for 1e-7 of itself."""
    high, low = word >> 16, word & jnp.uint32(0xFFFF)
    return ((high * count + (low * count >> 16)) >> 16).astype(jnp.int32)


def _in_cells(voxel: Array, part: Array, power: Array) -> tuple[Array, Array]:
    """The cell and the offset in steps of a place `part` of the way through a voxel of `2**power` steps."""
    down = jnp.maximum(-power, 0)
    within = (voxel & ((1 << down) - 1)).astype(jnp.float32)
    steps = jnp.ldexp(within + part, power)
    whole = jnp.floor(steps)
    return (voxel >> down << jnp.maximum(power, 0)) + whole.astype(jnp.int32), steps - whole


def _outside_bricks(index: UnionIndex, small: Dropped, chunk: int, mesh: jax.sharding.Mesh | None) -> Dropped:
    """Points of small bodies that no body of the bricks, and no small body that precedes their own, covers."""
    sure = index.inside.get(voxels_of(small.position, index.anchor, index.power))
    small = _rows(small, np.flatnonzero(~sure))
    prior = covers(
        index.cloud, small.position, source=small.source, level=small.level, counted="prior", chunk=chunk, mesh=mesh
    )
    return _rows(small, np.flatnonzero(prior == 0))


def voxels_of(position: Position, anchor: Anchor, power: int) -> np.ndarray:
    """The voxels `[T, 3]` of `2**power` steps in which places are, int64. Host side."""
    cell, offset = (np.asarray(part, np.float64) for part in position)
    return np.floor((cell + offset / anchor.step) * 2.0**-power).astype(np.int64)


def _rows(tree: Dropped | Position, rows: np.ndarray) -> Dropped | Position:
    return jax.tree.map(lambda leaf: leaf[rows], tree)
