"""Points sorted into the cells of one level, looked up by rows of cells.

A table of bounded size covers space of any extent: cell (x, y, z) has the key `x + y 2^a + z 2^(a+b)` modulo the size
of the table. Neighbours along x are neighbours in the table, so a row of cells is one range of points. Cells far apart
share keys; the exact test tells their points apart.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxkit.sampling.anchor import Array, Position

FINER = (3, 0, 0)
"""Cells of level l have edges `step 2^(l - f)`: fine cells cost nothing along x, along y and z they cost look-ups."""
ROW = 2 ** FINER[0] + 1
ACROSS = 2 ** FINER[1] + 1
COLUMNS = 8
SOURCE, SOURCE_LEVEL = 6, 7
PART = 2**16
FEWEST = tuple((2**finer + 1).bit_length() for finer in FINER)
"""Least bits of a key for each axis: the cells that one body can touch have different keys."""


class Grid(NamedTuple):
    """The points of one level, as the compiled programs take them.

    Attributes:
      rows: `[capacity * 8]` int32; for each point its cell (3), the bits of its float32 offset (3), its source and the
        level of its source. In the order of keys.
      start: int32, the first point of each key; behind the last key the first ones come again.
      points: `[]` int32, how many points there are.
      level: `[]` int32.
      shift: `[3]` int32: the bits of a key below y, below z, and in all.
    """

    rows: Array
    start: Array
    points: Array
    level: Array
    shift: Array


def cells(position: Position, level: int, step: float) -> list[np.ndarray]:
    """Three int32 `[T]` indices of cells, of positions on the host."""
    found = []
    for axis, finer in enumerate(FINER):
        up, down = max(finer - level, 0), max(level - finer, 0)
        index = np.asarray(position.cell)[:, axis]
        if up:
            part = np.asarray(position.offset)[:, axis] * np.float32(2.0**up / step)
            index = (index << up) + np.floor(part).astype(np.int32)
        found.append(index >> down)
    return found


def bounds(cell: Array, middle: tuple, half: tuple, level: Array) -> tuple[list[Array], list[Array]]:
    """First and last cell along each axis of boxes around `middle`, in steps from the whole cells `[B, 3]`. Traced."""
    lows, highs = [], []
    for axis, finer in enumerate(FINER):
        up, down = jnp.maximum(finer - level, 0), jnp.maximum(level - finer, 0)
        scale = jnp.left_shift(1, up).astype(jnp.float32)
        for found, edge in ((lows, middle[axis] - half[axis]), (highs, middle[axis] + half[axis])):
            found.append(((cell[:, axis] << up) + jnp.floor(edge * scale).astype(jnp.int32)) >> down)
    return lows, highs


def keys(cell: list, shift: Array) -> Array:
    """Keys of cells, int32 in [0, 2**bits). On the host and traced."""
    return (cell[0] + (cell[1] << shift[0]) + (cell[2] << shift[1])) & ((1 << shift[2]) - 1)


def build_grid(
    position: Position, source: np.ndarray, source_level: np.ndarray, level: int, step: float, room: int
) -> tuple[Grid, np.ndarray]:
    """The grid of one level, on the host, and `[T]` int32, which point comes when.

    Args:
      position: `[T]` places, at least one.
      source: `[T]` int32.
      source_level: `[T]` int32.
      level: of the bodies that will be looked up.
      step: of the anchor.
      room: points that the arrays have room for, a `capacity`; the grids of one join share their shapes.
    """
    cell = cells(position, level, step)
    shift = _shift(cell, _bits(len(source)))
    key, order = _sorted(keys(cell, shift))
    start = _starts(key, 1 << int(shift[2]), aligned((1 << _bits(room)) + ROW + 1, np.dtype(np.int32)))
    rows = _rows(position, source, source_level, order, aligned(room * COLUMNS, np.dtype(np.int32)))
    return Grid(rows, start, np.int32(len(source)), np.int32(level), shift), order


def _starts(key: np.ndarray, size: int, start: np.ndarray) -> np.ndarray:
    """Fills `start` for sorted keys below `size`, a part at a time: fresh memory costs more than the counting."""
    start[0] = 0
    for low in range(0, size, PART):
        high = min(low + PART, size)
        first, last = np.searchsorted(key, np.array([low, high], key.dtype))
        count = np.bincount(key[first:last] - low, minlength=high - low)
        count[0] += first
        np.cumsum(count, out=start[low + 1 : high + 1])
    start[size : size + ROW + 1] = len(key) + start[: ROW + 1]
    return start


def _rows(
    position: Position, source: np.ndarray, source_level: np.ndarray, order: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Fills `rows` with the points in the order of their keys, in two threads."""
    cell, offset = np.asarray(position.cell), np.asarray(position.offset).view(np.int32)
    table = rows[: len(order) * COLUMNS].reshape(-1, COLUMNS)

    def fill(first: int) -> None:
        chosen, part = order[first : first + PART], table[first : first + PART]
        part[:, :3], part[:, 3:6] = taken_rows(cell, chosen), taken_rows(offset, chosen)
        part[:, SOURCE], part[:, SOURCE_LEVEL] = np.take(source, chosen), np.take(source_level, chosen)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(fill, range(0, len(order), PART)))
    return rows


def taken_rows(table: np.ndarray, rows: np.ndarray, *, room: int | None = None) -> np.ndarray:
    """`table[rows]` of `[N, k]`, ten times faster: NumPy moves a row that is one item as a whole.

    Args:
      table: `[N, k]`.
      rows: valid indices.
      room: rows of the result, the last of them zeros; None: as many as there are.
    """
    table = np.ascontiguousarray(table)
    whole, count = np.dtype((np.void, table.itemsize * table.shape[1])), len(rows)
    taken = aligned((count if room is None else room) * table.shape[1], table.dtype)
    # The mode "raise" would go through a buffer.
    np.take(table.view(whole)[:, 0], rows, out=taken.view(whole)[:count], mode="clip")
    taken[count * table.shape[1] :] = 0
    return taken.reshape(-1, table.shape[1])


def capacity(points: int) -> int:
    """`points` rounded up to a power of four, so that few programs are compiled.

    Room that is not written takes no memory; to compile takes seconds.
    """
    return 4 ** max(-(-(points - 1).bit_length() // 2), 8)


def _bits(points: int) -> int:
    """Bits of the keys for so many points: four to eight keys for each."""
    return min(max((4 * points - 1).bit_length(), sum(FEWEST)), 30)


def aligned(size: int, dtype: np.dtype) -> np.ndarray:
    """Room at a multiple of 64 bytes, which JAX on CPUs takes without a copy. What is not written costs no memory."""
    room = np.empty(size * dtype.itemsize + 64, np.uint8)
    first = -room.ctypes.data % 64
    return room[first : first + size * dtype.itemsize].view(dtype)


def _sorted(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys in order and where they were. NumPy sorts packed words several times faster than `argsort` does."""
    packed = key.astype(np.uint64) << np.uint64(32) | np.arange(len(key), dtype=np.uint64)
    packed.sort()
    return (packed >> np.uint64(32)).astype(np.int32), packed.astype(np.uint32).view(np.int32)


def _shift(cell: list[np.ndarray], most: int) -> np.ndarray:
    """Bits of a key for the three axes, summed up: enough for the box of the points, but at most `most`."""
    extent = [int(index.max()) - int(index.min()) for index in cell]
    bits = [max(length.bit_length(), least) for length, least in zip(extent, FEWEST, strict=True)]
    while sum(bits) > most:
        bits[max(range(3), key=lambda axis: bits[axis] - FEWEST[axis])] -= 1
    return np.cumsum(bits).astype(np.int32)
