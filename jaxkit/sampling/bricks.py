"""Sparse sets of voxels in bricks of 8 x 8 x 8, two orders of magnitude smaller than a list of indices."""

import dataclasses
import functools

import numpy as np

from jaxkit.sampling.bits import EDGE, WORDS, popcount, rank_in_brick, select_in_brick, test_bit, unpack

LIMIT = 2**20


@dataclasses.dataclass(frozen=True)
class Bricks:
    """A set of voxels. Voxel (i, j, k) is the cube `origin + voxel_size * [(i, j, k), (i + 1, j + 1, k + 1))`.

    Attributes:
      bits: `[B, 16]` uint32, the voxels of each brick; see `jaxkit.sampling.bits`.
      brick: `[B, 3]` int32, in lexicographic order and all different: brick b holds voxels `8 b` to `8 b + 7`.
      voxel_size: edge of a voxel in the units of the world.
      origin: world coordinates of the lower corner of voxel (0, 0, 0).
    """

    bits: np.ndarray
    brick: np.ndarray
    voxel_size: float
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @functools.cached_property
    def cumulative(self) -> np.ndarray:
        """`[B + 1]` int64: how many voxels are set before each brick, and in all."""
        counts = popcount(self.bits).sum(1, dtype=np.int64)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])

    @functools.cached_property
    def keys(self) -> np.ndarray:
        """`[B]` int64, increasing: one number for each brick."""
        return brick_keys(self.brick)

    @property
    def nbytes(self) -> int:
        """Bytes of the bits and of the places of the bricks."""
        return self.bits.nbytes + self.brick.nbytes

    def __len__(self) -> int:
        return len(self.brick)

    def count(self) -> int:
        """How many voxels are set."""
        return int(self.cumulative[-1])

    def volume(self) -> float:
        """The volume of the set voxels."""
        return self.count() * self.voxel_size**3

    def find(self, brick: np.ndarray) -> np.ndarray:
        """The rows of bricks `[..., 3]` in this set, int64; -1 where there is no such brick."""
        within = (np.abs(np.asarray(brick, np.int64)) < LIMIT).all(-1)
        key = brick_keys(np.where(within[..., None], brick, 0))
        row = np.searchsorted(self.keys, key)
        known = within & (np.append(self.keys, -1)[row] == key)
        return np.where(known, row, -1)

    def get(self, ijk: np.ndarray) -> np.ndarray:
        """Whether voxels `[..., 3]` (integers) are set, bool `[...]`."""
        ijk = _whole(ijk)
        row = self.find(ijk // EDGE)
        bits = np.concatenate([self.bits, np.zeros((1, WORDS), np.uint32)])
        return test_bit(bits[row], bit_index(ijk))

    def rank(self, ijk: np.ndarray) -> np.ndarray:
        """How many set voxels come before voxels `[..., 3]` of bricks in the set, int64: the inverse of `select`.

        Raises:
          KeyError: if a voxel's brick is not in the set.
        """
        ijk = _whole(ijk)
        row = self.find(ijk // EDGE)
        if (row < 0).any():
            raise KeyError(f"no brick of the set holds voxel {ijk.reshape(-1, 3)[row.reshape(-1) < 0][0].tolist()}")
        return self.cumulative[row] + rank_in_brick(self.bits[row], bit_index(ijk))

    def select(self, k: np.ndarray) -> np.ndarray:
        """The set voxels number `k` (integers from 0, `[...]`), int32 `[..., 3]`.

        They are numbered brick by brick, in a brick with the third index fastest.

        Raises:
          IndexError: if a number is not in [0, count()).
        """
        k = _whole(k)
        if k.size and not (k.min() >= 0 and k.max() < self.count()):
            raise IndexError(f"numbers of voxels must be in [0, {self.count()}), got {k.min()} to {k.max()}")
        row = np.searchsorted(self.cumulative, k, side="right") - 1
        bit = select_in_brick(self.bits[row], (k - self.cumulative[row]).astype(np.int32))
        return self.brick[row] * EDGE + voxel_in_brick(bit)

    def to_dense(self, low: tuple[int, int, int], high: tuple[int, int, int]) -> np.ndarray:
        """The voxels from `low` to before `high` as `[high - low]` bool.

        Raises:
          ValueError: if `high` is below `low`.
        """
        low, high = np.asarray(low, np.int64), np.asarray(high, np.int64)
        if (high < low).any():
            raise ValueError(f"high must not be below low, got {low.tolist()} to {high.tolist()}")
        first, last = low // EDGE, -(-high // EDGE)
        blocks = np.zeros((*(last - first), EDGE, EDGE, EDGE), bool)
        rows = ((self.brick >= first) & (self.brick < last)).all(1)
        blocks[tuple((self.brick[rows] - first).T)] = unpack(self.bits[rows])
        dense = blocks.transpose(0, 3, 1, 4, 2, 5).reshape((last - first) * EDGE)
        return dense[tuple(slice(*ends) for ends in zip(low - first * EDGE, high - first * EDGE, strict=True))]


def brick_keys(brick: np.ndarray) -> np.ndarray:
    """`[..., 3]` bricks within 2**20 of the origin as int64 numbers in the same order."""
    x, y, z = (np.asarray(brick[..., axis], np.int64) + LIMIT for axis in range(3))
    return ((x << 21) + y << 21) + z


def bricks_of_keys(keys: np.ndarray) -> np.ndarray:
    """The inverse of `brick_keys`, `[..., 3]` int32."""
    parts = (keys >> 42, keys >> 21, keys)
    return np.stack([((part & (2 * LIMIT - 1)) - LIMIT).astype(np.int32) for part in parts], -1)


def bit_index(ijk: np.ndarray) -> np.ndarray:
    """The bit of voxels `[..., 3]` in their bricks, int32."""
    i, j, k = (np.asarray(ijk[..., axis] % EDGE, np.int32) for axis in range(3))
    return (i * EDGE + j) * EDGE + k


def voxel_in_brick(bit: np.ndarray) -> np.ndarray:
    """The voxels `[..., 3]` in their bricks of bits, int32: the inverse of `bit_index`."""
    return np.stack([bit // (EDGE * EDGE), bit // EDGE % EDGE, bit % EDGE], -1).astype(np.int32)


def _whole(numbers: np.ndarray) -> np.ndarray:
    numbers = np.asarray(numbers)
    if not np.issubdtype(numbers.dtype, np.integer):
        raise TypeError(f"voxels are whole numbers, got dtype {numbers.dtype}")
    return numbers.astype(np.int64)
