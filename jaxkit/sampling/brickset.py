"""A set of bricks that grows while bodies are added."""

import numpy as np

from jaxkit.sampling.bits import VOXELS, WORDS
from jaxkit.sampling.bricks import bricks_of_keys

FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
LONGS = VOXELS // 64
FIRST = 2**12
# A key and a row, each twice while the index grows, and the place of the brick in the result.
INDEX_BYTES = 2 * 16 + 12


class BudgetError(ValueError):
    """What was asked for would take more memory than it may."""


class BrickSet:
    """Bits of bricks for several rules, in the order in which the bricks came. For one thread.

    Args:
      rules: names of the rules.
      budget_bytes: what the set may take while it grows.
      enough: a brick is done when it is full by all rules but the last, and holds so many voxels by the last.
    """

    def __init__(self, rules: tuple[str, ...], budget_bytes: int, enough: int = VOXELS):
        self.rules = rules
        self._budget, self._enough = budget_bytes, enough
        self._settled, self._recent = _Index.empty(), _Index.empty()
        self._size = 0
        self._bits = [np.zeros((0, LONGS), np.uint64) for _ in rules]
        self._done = np.zeros(0, bool)

    def slots(self, keys: np.ndarray) -> np.ndarray:
        """The rows of bricks by their keys, int64, increasing and all different; new ones are added.

        Raises:
          BudgetError: instead of adding more than the budget allows.
        """
        row = self._settled.find(keys)
        missing = np.flatnonzero(row < 0)
        row[missing] = self._recent.find(keys[missing])
        missing = missing[row[missing] < 0]
        if missing.size:
            row[missing] = np.arange(self._size, self._size + len(missing))
            self._grow(keys[missing], row[missing])
        return row

    def is_done(self, slot: np.ndarray) -> np.ndarray:
        """Whether more tests of these rows are not worth their time."""
        return self._done[slot]

    def fill(self, slot: np.ndarray) -> None:
        """Sets every voxel of the rows by every rule."""
        self._done[slot] = True
        for bits in self._bits:
            bits[slot] = FULL

    def add(self, slot: np.ndarray, masks: list[np.ndarray]) -> None:
        """Sets the voxels of masks `[>= P, 64]` uint8 in the rows `slot` `[P]`, equal rows side by side."""
        starts = np.flatnonzero(np.concatenate([[True], slot[1:] != slot[:-1]]))
        masks = [np.ascontiguousarray(np.asarray(mask)[: len(slot)]).view(np.uint64) for mask in masks]
        if len(starts) < len(slot):
            masks = [np.bitwise_or.reduceat(mask, starts, axis=0) for mask in masks]
        slot = slot[starts]
        merged = [bits[slot] | mask for bits, mask in zip(self._bits, masks, strict=True)]
        for bits, mask in zip(self._bits, merged, strict=True):
            bits[slot] = mask
        done = _count(merged[-1]) >= self._enough
        for mask in merged[:-1]:
            done &= _count(mask) == VOXELS
        self._done[slot] = done

    def settle(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """The keys of the bricks with a voxel by some rule, in order, and for each rule bits `[B, 16]` uint32.

        The set is empty afterwards.
        """
        index = _Index.merged(self._settled, self._recent)
        kept = np.zeros(self._size, bool)
        for bits in self._bits:
            kept |= bits[: self._size].any(1)
        chosen = kept[index.row]
        key, row = index.key[chosen], index.row[chosen]
        words = [self._bits.pop(0)[row].view(np.uint32).reshape(len(row), WORDS) for _ in self.rules]
        self.__init__(self.rules, self._budget, self._enough)
        return key, words

    def _grow(self, keys: np.ndarray, rows: np.ndarray) -> None:
        self._size += len(keys)
        if self._size > len(self._done):
            if bytes_of(self._size, len(self.rules)) > self._budget:
                raise BudgetError(f"more than {self._size} bricks do not fit in {self._budget} bytes")
            # Half as many again; resizing a large array in place moves no memory.
            room = max(FIRST, self._size, min(self._size * 3 // 2, self._budget // bytes_of(1, len(self.rules))))
            self._done.resize(room, refcheck=False)
            for bits in self._bits:
                bits.resize((room, LONGS), refcheck=False)
        self._recent = _Index.merged(self._recent, _Index(keys, rows))
        if len(self._recent.key) > max(FIRST, len(self._settled.key) // 4):
            self._settled, self._recent = _Index.merged(self._settled, self._recent), _Index.empty()


def settled(sets: list[BrickSet]) -> tuple[np.ndarray, list[np.ndarray]]:
    """The bricks `[B, 3]` int32 of sets that share none, in order, and for each rule their bits `[B, 16]` uint32."""
    keys, words = zip(*(part.settle() for part in sets), strict=True)
    key = np.concatenate(keys)
    order = np.argsort(key, kind="stable")
    parts = [list(rule) for rule in zip(*words, strict=True)]
    return bricks_of_keys(key[order]), [np.concatenate(parts.pop(0))[order] for _ in sets[0].rules]


def bytes_of(bricks: int, rules: int) -> int:
    """What a set of so many bricks takes at its largest: the bits, those of one rule again in order, the index."""
    return bricks * ((rules + 1) * VOXELS // 8 + INDEX_BYTES)


def _count(bits: np.ndarray) -> np.ndarray:
    """How many bits are set in rows `[P, 8]` uint64. NumPy sums columns several times faster than rows of eight."""
    columns = np.bitwise_count(bits)
    total = columns[:, 0].astype(np.int16)
    for column in range(1, LONGS):
        total += columns[:, column]
    return total


class _Index:
    """Keys in order, and the row of each."""

    def __init__(self, key: np.ndarray, row: np.ndarray):
        self.key, self.row = key, row

    @staticmethod
    def empty() -> "_Index":
        return _Index(np.zeros(0, np.int64), np.zeros(0, np.int64))

    @staticmethod
    def merged(a: "_Index", b: "_Index") -> "_Index":
        place = np.searchsorted(a.key, b.key)
        return _Index(np.insert(a.key, place, b.key), np.insert(a.row, place, b.row))

    def find(self, key: np.ndarray) -> np.ndarray:
        """The rows of keys, -1 where there is none."""
        if not self.key.size:
            return np.full(len(key), -1)
        place = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        return np.where(self.key[place] == key, self.row[place], -1)
