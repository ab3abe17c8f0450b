"""How many bodies of a cloud cover each of many points: the points are indexed, the bodies stream over them."""

from collections.abc import Iterator

import jax
import numpy as np

from jaxkit.sampling.anchor import Position
from jaxkit.sampling.ellipsoids import Bodies, Cloud
from jaxkit.sampling.grid import Grid, cells, keys, taken_rows
from jaxkit.sampling.levels import LARGEST
from jaxkit.sampling.levels import levels as levels_of
from jaxkit.sampling.needles import FEW, PARTS, cuts, is_elongated, part, part_levels, pieces, sizes_of_parts
from jaxkit.sampling.pairs import BLOCK, Block
from jaxkit.sampling.shelf import Shelf

COUNTED = ("any", "other", "prior")


def covers(
    cloud: Cloud,
    position: Position,
    *,
    source: np.ndarray | None = None,
    level: np.ndarray | None = None,
    counted: str = "any",
    chunk: int = 2**20,
    mesh: jax.sharding.Mesh | None = None,
    levels: tuple[int, int] | None = None,
) -> np.ndarray:
    """How many bodies cover each point, `[T]` int32.

    The points are sorted into a grid for each level of bodies; the bodies stream over them once. Every pair that could
    be a hit is tested, once, in float32 relative to the body, so the result does not depend on `chunk` or `mesh`.
    Memory: some 50 bytes a point for each level that occurs, and the chunk; for "prior" only the levels of bodies at
    least as large as its source hold a point.

    Args:
      cloud: the bodies, their cells within 2**30 of the anchor.
      position: `[T]` points in the frame of the cloud, on the host.
      source: `[T]` int32, the body that each point was drawn from; for "other" and "prior".
      level: `[T]` int32, the levels of those bodies; for "prior".
      counted: "any" body that covers the point, every one but its source ("other"), or those that precede its source
        ("prior"): bodies of higher levels, and of the same level with lower row numbers.
      chunk: bodies that are read at once.
      mesh: devices that share the bodies; each holds all points.
      levels: lowest and highest level of the bodies that count.

    Raises:
      ValueError: for an unknown `counted`, or a missing or misshapen `source` or `level`.
    """
    if counted not in COUNTED:
        raise ValueError(f"counted must be one of {COUNTED}, not {counted!r}")
    points = len(position.cell)
    source = _column("source", source, points, needed=counted != "any")
    level = _column("level", level, points, needed=counted == "prior")
    total = np.zeros(points, np.int32)
    shelf = Shelf(cloud.anchor.step, position, source, level, counted, mesh)
    for _, index, tally in joined(cloud, shelf, chunk, levels):
        total[index] += tally
    return total


def joined(
    cloud: Cloud, shelf: Shelf, chunk: int, levels: tuple[int, int] | None
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Streams a cloud over the points of a shelf; then `Shelf.found`."""
    low, high = (0, LARGEST) if levels is None else levels
    if len(shelf.source):
        for first, bodies in cloud.chunks(chunk):
            bodies = jax.tree.map(np.asarray, bodies)
            level = levels_of(bodies.semi_axes, cloud.anchor.step)
            counts = (bodies.semi_axes[:, 0] > 0) & (level >= low) & (level <= high)
            long = is_elongated(bodies.semi_axes)
            number = np.bincount(level[counts])
            # Common levels first: the rare ones may then do with the grids of these.
            order = [int(one) for one in np.argsort(-number, kind="stable")[: np.count_nonzero(number)]]
            for place, one in enumerate(order):
                _send_level(shelf, one, first, bodies, counts & (level == one), long, others=order[place + 1 :])
    yield from shelf.found()


def _column(name: str, values: np.ndarray | None, points: int, *, needed: bool) -> np.ndarray:
    if not needed:
        return np.zeros(points, np.int32)
    if values is None or np.shape(values) != (points,):
        found = "missing" if values is None else f"of shape {np.shape(values)}"
        raise ValueError(f"{name} must hold one number for each of {points} points, it is {found}")
    return np.asarray(values, np.int32)


def _send_level(
    shelf: Shelf, level: int, first: int, bodies: Bodies, chosen: np.ndarray, long: np.ndarray, *, others: list[int]
) -> None:
    """Joins the bodies of a chunk that are of one level; those of other levels follow."""
    rows = np.flatnonzero(chosen)
    finer = shelf.finer(level, len(rows))
    if finer is not None:
        counts = pieces(bodies.semi_axes[rows], level - finer)
        return _send_parts(shelf, level, first, bodies, rows, counts)
    key = shelf.key_for(level, len(rows), others=others)
    if shelf.grid(key) is None:
        return None
    rows = rows[_along(shelf.grid(key), bodies.center, rows, shelf.step)]
    if long[rows].any():
        rows = np.concatenate([rows[~long[rows]], _send_long(shelf, key, level, first, bodies, rows[long[rows]])])
    for at in range(0, len(rows), BLOCK):
        shelf.send(key, _block(bodies, rows[at : at + BLOCK], first, level))


def _send_long(
    shelf: Shelf, key: tuple[int, int], level: int, first: int, bodies: Bodies, rows: np.ndarray
) -> np.ndarray:
    """Joins the parts of long bodies; those that are not worth it are given back, to be joined whole."""
    found = [
        shelf.candidates(key, _block(bodies, rows[at : at + BLOCK], first, level))[: len(rows) - at]
        for at in range(0, len(rows), BLOCK)
    ]
    count = np.concatenate(found)
    many = rows[count > FEW]
    counts = cuts(bodies.semi_axes[many], count[count > FEW])
    small = sizes_of_parts(bodies.semi_axes[many], counts, shelf.step)
    if not shelf.worth_parts(np.unique(small), int(count[count > FEW].sum(dtype=np.int64))):
        return rows
    _send_parts(shelf, level, first, bodies, many, counts)
    return rows[count <= FEW]


def _send_parts(shelf: Shelf, level: int, first: int, bodies: Bodies, rows: np.ndarray, counts: np.ndarray) -> None:
    """Cuts bodies, some at a time, and joins the parts."""
    batch = np.cumsum(counts.prod(1)) // PARTS
    for number in np.unique(batch):
        _send_some_parts(shelf, level, first, bodies, rows[batch == number], counts[batch == number])


def _send_some_parts(
    shelf: Shelf, level: int, first: int, bodies: Bodies, rows: np.ndarray, counts: np.ndarray
) -> None:
    body, low, high = part(counts)
    small = part_levels(bodies.semi_axes[rows[body]], low, high, shelf.step)
    keys_of = {int(one): shelf.key_for_parts(int(one)) for one in np.unique(small)[::-1]}
    for key in set(keys_of.values()):
        chosen = np.flatnonzero(np.isin(small, [one for one in keys_of if keys_of[one] == key]))
        for at in range(0, len(chosen), BLOCK):
            now = chosen[at : at + BLOCK]
            block = _block(bodies, rows[body[now]], first, level)
            shelf.send(key, block._replace(low=_padded(low[now]), high=_padded(high[now])))


def _along(grid: Grid, center: Position, rows: np.ndarray, step: float) -> np.ndarray:
    """An order in which neighbours look up neighbouring keys: it saves most of the waiting for memory."""
    shift = np.asarray(grid.shift)
    taken = Position(*(taken_rows(leaf, rows) for leaf in center))
    key = keys(cells(taken, int(grid.level), step), shift) >> max(int(shift[2]) - 16, 0)
    # NumPy sorts 16 bits by counting.
    return np.argsort(key.astype(np.uint16), kind="stable")


def _block(bodies: Bodies, rows: np.ndarray, first: int, level: int) -> Block:
    taken = jax.tree.map(lambda leaf: taken_rows(leaf, rows, room=BLOCK), bodies)
    return Block(taken, _padded((first + rows).astype(np.int32)), np.int32(level))


def _padded(values: np.ndarray) -> np.ndarray:
    if len(values) == BLOCK:
        return values
    return np.concatenate([values, np.zeros((BLOCK - len(values), *values.shape[1:]), values.dtype)])
