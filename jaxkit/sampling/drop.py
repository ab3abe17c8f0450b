"""Points dropped into (or onto) every body of a cloud, as if the others were not there, as a stream over the cloud.

Body k receives a Poisson process of the given density in its own volume, or on its own surface. Whoever then keeps a
point only in the body that owns its place keeps a Poisson process of that density in the union: restrictions of a
Poisson process to disjoint parts are independent, and their superposition is Poisson again (Kingman, "Poisson
Processes", 1993). Given how many there are, such points are independent and uniform.
"""

import functools
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.sampling.anchor import Array, Position
from jaxkit.sampling.arrival import Arrivals, arrivals
from jaxkit.sampling.ball import in_ball, on_sphere
from jaxkit.sampling.batches import by_batches
from jaxkit.sampling.counter import stream, threefry, uniform
from jaxkit.sampling.ellipsoids import Bodies, Cloud
from jaxkit.sampling.levels import levels
from jaxkit.sampling.shape import BALL, rotation, to_world

BLOCK = 2**16
THREADS = 2


class Dropped(NamedTuple):
    """Points with the bodies that dropped them, NumPy arrays on the host, in no particular order.

    Attributes:
      position: `Position`, int32 `[T, 3]` and float32 `[T, 3]`.
      source: int32 `[T]`, row of the body in the cloud.
      level: int32 `[T]`, size level of the body, see `levels`.
      tag: uint64 `[T]`: the time of arrival above, random bits below. The points with the smallest tags are a fair
        sample, and those up to a density are the same whatever density was asked for.
      normal: float32 `[T, 3]` unit outward normals of a drop on surfaces, else None.
    """

    position: Position
    source: np.ndarray
    level: np.ndarray
    tag: np.ndarray
    normal: np.ndarray | None = None


def drop(
    key: Array,
    cloud: Cloud,
    density: float,
    *,
    epoch: int = 0,
    where: Literal["volume", "surface"] = "volume",
    above: float = 0.0,
    stratified: bool = False,
    chunk: int = 2**20,
) -> Dropped:
    """Poisson points in all bodies, each as if it were alone.

    Args:
      key: a typed key. The points of a body depend on the key, its row and the epoch: not on chunks, devices or others.
      cloud: the bodies.
      density: points per unit of volume, or of surface.
      epoch: number of the repetition; other epochs are independent.
      where: "volume": uniform in the body; "surface": uniform on its surface, with normals.
      above: leaves out the points of a drop of this lower density: what is missing from one drop to a denser one.
      stratified: each body receives its expected number of points rounded up or down. Less variance, every place is
        as likely as before, but the points are not independent.
      chunk: rows of the cloud at a time, rounded to whole blocks; no result depends on it.

    Raises:
      ValueError: if the density is negative or not finite, `where` is unknown, or a body would receive 2**29 points.
    """
    if where not in _KINDS:
        raise ValueError(f"where must be 'volume' or 'surface', got {where!r}")
    if not (math.isfinite(density) and density >= 0):
        raise ValueError(f"density must be finite and at least 0, got {density!r}")
    kind, step = _KINDS[where], cloud.anchor.step
    low, high = (np.float32(value * kind.unit * step**kind.dimension) for value in (above, density))
    seeds = [stream(key, f"{where} {name}", index=epoch) for name in ("arrival", "place")]

    def of_block(block: tuple[int, Bodies]) -> Dropped:
        first, bodies = block
        body = np.arange(first, first + len(bodies.semi_axes), dtype=np.uint32)
        fallen = arrivals(seeds[0], body, kind.rate(bodies.semi_axes, step), low, high, even=stratified)
        return _of_arrivals(seeds[1], kind, first, bodies, fallen, step)

    with ThreadPoolExecutor(THREADS) as pool:
        return _joined([_nothing(kind), *mapped(pool, of_block, blocks(cloud, chunk))])


def whole_blocks(chunk: int) -> int:
    """`chunk` rows rounded down to whole blocks, at least one.

    Raises:
      ValueError: if `chunk` is not a positive whole number.
    """
    if isinstance(chunk, bool) or not isinstance(chunk, int | np.integer) or chunk < 1:
        raise ValueError(f"chunk must be a whole number of at least 1, got {chunk!r}")
    return max(int(chunk) // BLOCK, 1) * BLOCK


def blocks(cloud: Cloud, chunk: int) -> Iterator[tuple[int, Bodies]]:
    """`(first, bodies)` with at most `BLOCK` rows, NumPy arrays, from chunks of about the given number of rows."""
    for first, bodies in cloud.chunks(whole_blocks(chunk)):
        bodies = jax.tree.map(np.asarray, bodies)
        for start in range(0, len(bodies.semi_axes), BLOCK):
            yield first + start, jax.tree.map(lambda leaf: leaf[start : start + BLOCK], bodies)  # noqa: B023


def mapped(pool: ThreadPoolExecutor, function: Callable, items: Iterator) -> Iterator:
    """`map` in threads, in order, that reads only a few items ahead: a cloud need not fit in memory."""
    waiting = []
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) > 2 * THREADS:
            yield waiting.pop(0).result()
    yield from (future.result() for future in waiting)


def _of_arrivals(seed: Array, kind: "_Kind", first: int, bodies: Bodies, fallen: Arrivals, step: float) -> Dropped:
    source = (fallen.row + first).astype(np.int32)
    unit, tie, more = by_batches(functools.partial(kind.unit_place, seed), source.view(np.uint32), fallen.lane)
    block = jax.tree.map(lambda leaf: jax.device_put(_padded(leaf)), bodies)
    place = functools.partial(kind.place, block, np.float32(step))
    cell, offset, keep, normal = by_batches(place, fallen.row, *unit, *more)
    tag = fallen.time.view(np.uint32).astype(np.uint64) << np.uint64(32) | tie
    level = levels(bodies.semi_axes, step)[fallen.row]
    made = Dropped(Position(_rows(cell), _rows(offset)), source, level, tag, normal and _rows(normal))
    return made if keep is None else jax.tree.map(lambda leaf: leaf[keep], made)


def _padded(leaf: np.ndarray) -> np.ndarray:
    """Rows of zeros up to a whole block, so that one program serves all."""
    missing = BLOCK - len(leaf)
    return np.concatenate([leaf, np.zeros((missing, *leaf.shape[1:]), leaf.dtype)]) if missing else leaf


def _rows(columns: tuple[np.ndarray, ...]) -> np.ndarray:
    rows = np.empty((len(columns[0]), len(columns)), columns[0].dtype)
    for index, column in enumerate(columns):
        rows[:, index] = column
    return rows


def _joined(parts: list[Dropped]) -> Dropped:
    """All parts in one; leaf by leaf, and each leaf of a part is let go when it is copied."""
    flat, structure = [jax.tree.leaves(part) for part in parts], jax.tree.structure(parts[0])
    parts.clear()
    return structure.unflatten([np.concatenate([leaves.pop(0) for leaves in flat]) for _ in range(len(flat[0]))])


def _nothing(kind: "_Kind") -> Dropped:
    none = np.zeros((0, 3), np.float32)
    ints = np.zeros(0, np.int32)
    normal = none if kind.dimension == 2 else None
    return Dropped(Position(none.astype(np.int32), none), ints, ints, np.zeros(0, np.uint64), normal)


def _volume_rate(semi_axes: np.ndarray, step: float) -> np.ndarray:
    a, b, c = (semi_axes[:, axis] / np.float32(step) for axis in range(3))
    return a * b * c


def _surface_rate(semi_axes: np.ndarray, step: float) -> np.ndarray:
    a, b, c = (semi_axes[:, axis] / np.float32(step) for axis in range(3))
    return np.maximum(np.maximum(a * b, a * c), b * c)


@jax.jit
def _ball(seed: Array, body: Array, lane: Array) -> tuple:
    first, second, third = (threefry(seed, body, lane * 3 + call) for call in range(3))
    return in_ball((*first, second[0]), second[1], third[0]), third[1], ()


@jax.jit
def _sphere(seed: Array, body: Array, lane: Array) -> tuple:
    first, second = (threefry(seed, body, lane * 2 + call) for call in range(2))
    return on_sphere(*first), second[1], (uniform(second[0]),)


@jax.jit
def _in_volume(block: Bodies, step: Array, row: Array, *unit: Array) -> tuple:
    return *_moved(_taken(block, row), unit, step), None, None


@jax.jit
def _on_surface(block: Bodies, step: Array, row: Array, x: Array, y: Array, z: Array, chance: Array) -> tuple:
    """A uniform direction is kept with the ratio of its area element to the largest one: half or more are."""
    bodies = _taken(block, row)
    a, b, c = bodies.semi_axes
    faces = (x * b * c, y * a * c, z * a * b)
    area = jnp.sqrt(sum(face * face for face in faces))
    keep = chance * jnp.maximum(jnp.maximum(a * b, a * c), b * c) < area
    normal = to_world(rotation(jnp.stack(bodies.quaternion, -1)), tuple(face / area for face in faces))
    return *_moved(bodies, (x, y, z), step), keep, normal


def _taken(block: Bodies, row: Array) -> Bodies:
    """The bodies of rows, column by column: columns fill vector registers, rows of three do not."""

    def columns(leaf: Array) -> tuple[Array, ...]:
        flat, width = leaf.reshape(-1), leaf.shape[1]
        return tuple(flat.at[row * width + index].get(mode="promise_in_bounds") for index in range(width))

    return jax.tree.map(columns, block)


def _moved(bodies: Bodies, unit: tuple, step: Array) -> tuple[tuple, tuple]:
    """Cells and offsets, in columns, of the images of places in the unit ball."""
    own = tuple(axis * part for axis, part in zip(bodies.semi_axes, unit, strict=True))
    by = to_world(rotation(jnp.stack(bodies.quaternion, -1)), own)
    moved = [offset + part for offset, part in zip(bodies.center.offset, by, strict=True)]
    inverse = 1 / step  # A power of two: exact.
    whole = [jnp.floor(value * inverse) for value in moved]
    cell = tuple(cell + count.astype(jnp.int32) for cell, count in zip(bodies.center.cell, whole, strict=True))
    return cell, tuple(value - count * step for value, count in zip(moved, whole, strict=True))


class _Kind(NamedTuple):
    """How to drop: the measure is `unit * step^dimension * rate`; `unit_place` makes places on the unit ball of words.

    They exist in memory before `place` moves them into the bodies: fused, every coordinate would make its words anew.
    """

    dimension: int
    unit: float
    rate: Callable[[np.ndarray, float], np.ndarray]
    unit_place: Callable[..., tuple]
    place: Callable[..., tuple]


_KINDS = {
    "volume": _Kind(3, BALL, _volume_rate, _ball, _in_volume),
    "surface": _Kind(2, 4 * math.pi, _surface_rate, _sphere, _on_surface),
}
