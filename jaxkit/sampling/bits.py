"""Sets of voxels as bits: a brick of 8 x 8 x 8 voxels is 16 words of 32 bits.

Voxel (i, j, k) of a brick is bit `(8 i + j) * 8 + k`, counted from the lowest bit of the first word: a row along the
third axis is one byte. Everything is elementwise and works on NumPy and on traced JAX arrays alike.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.sampling.anchor import Array

EDGE = 8
VOXELS = EDGE**3
WORDS = VOXELS // 32


def pack(voxels: Array) -> Array:
    """`[..., 8, 8, 8]` bool as `[..., 16]` uint32."""
    rows = voxels.reshape(*voxels.shape[:-3], WORDS, 32).astype(np.uint32)
    return (rows << _lanes(rows)).sum(-1, dtype=np.uint32)


def unpack(words: Array) -> Array:
    """`[..., 16]` uint32 as `[..., 8, 8, 8]` bool."""
    bits = (words[..., None] >> _lanes(words[..., None])) & np.uint32(1)
    return (bits != 0).reshape(*words.shape[:-1], EDGE, EDGE, EDGE)


def popcount(words: Array) -> Array:
    """How many bits are set in each uint32 word, int32."""
    count = jax.lax.population_count(words) if isinstance(words, jax.Array) else np.bitwise_count(words)
    return count.astype(np.int32)


def select_in_word(word: Array, k: Array) -> Array:
    """The place (0 to 31, int32) of the set bit number `k` (int32, from 0) of uint32 words; 31 where there is none.

    Five halvings without a branch: where the lower half holds too few bits, they are skipped.
    """
    place = k * 0
    for width in (16, 8, 4, 2, 1):
        low = popcount((word >> place.astype(np.uint32)) & np.uint32((1 << width) - 1))
        skip = (k >= low).astype(np.int32)
        k, place = k - skip * low, place + skip * np.int32(width)
    return place


def select_in_brick(words: Array, k: Array) -> Array:
    """The bit index (0 to 511, int32) of the set bit number `k` (int32 `[...]`) of bricks `[..., 16]` uint32."""
    place, word = k * 0, words[..., 0]
    before, found = k * 0, k * 0
    for index in range(WORDS):
        inside = (k >= before).astype(np.int32)
        found, place = found + inside * (before - found), place + inside * (32 * index - place)
        word = _choose(inside != 0, words[..., index], word)
        before = before + popcount(words[..., index])
    return place + select_in_word(word, k - found)


def rank_in_brick(words: Array, bit: Array) -> Array:
    """How many set bits of bricks `[..., 16]` come before the bit index (int32 `[...]`), int32."""
    total = bit * 0
    for index in range(WORDS):
        width = (bit - 32 * index).clip(0, 32)
        full = (width == 32).astype(np.uint32)
        below = (np.uint32(1) << (width % 32).astype(np.uint32)) - np.uint32(1)
        total = total + popcount(words[..., index] & (below | (full * np.uint32(0xFFFFFFFF))))
    return total


def test_bit(words: Array, bit: Array) -> Array:
    """Whether the bit of this index (int32 `[...]`) is set in bricks `[..., 16]`, bool."""
    word = words[..., 0]
    for index in range(1, WORDS):
        word = _choose(bit >= 32 * index, words[..., index], word)
    return (word >> (bit % 32).astype(np.uint32)) & np.uint32(1) != 0


def _choose(condition: Array, yes: Array, no: Array) -> Array:
    return jnp.where(condition, yes, no) if isinstance(condition, jax.Array) else np.where(condition, yes, no)


def _lanes(like: Array) -> np.ndarray:
    return np.arange(32, dtype=np.uint32).reshape((1,) * (like.ndim - 1) + (32,))
