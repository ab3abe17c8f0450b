"""Bits of bricks against plain NumPy on bools, on the host and traced."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.sampling import bits

FORMS = {"host": lambda function: function, "traced": lambda function: jax.jit(function)}


def _set(rng, count=40):
    """Bricks from empty to full, as bools and as words written by NumPy's own packing."""
    voxels = rng.random((count, 8, 8, 8)) < np.linspace(-0.1, 1.1, count)[:, None, None, None]
    words = np.packbits(voxels.reshape(count, -1), axis=1, bitorder="little").view("<u4")
    return voxels, words


@pytest.fixture(params=FORMS)
def form(request):
    place = np.asarray if request.param == "host" else jnp.asarray
    return lambda function, *arrays: FORMS[request.param](function)(*map(place, arrays))


def test_pack_is_little_endian_and_unpack_undoes_it(form, rng):
    voxels, words = _set(rng)
    np.testing.assert_array_equal(form(bits.pack, voxels), words)
    np.testing.assert_array_equal(form(bits.unpack, words), voxels)


def test_popcount_counts(form, rng):
    voxels, words = _set(rng)
    np.testing.assert_array_equal(form(bits.popcount, words).sum(1), voxels.sum((1, 2, 3)))


def test_select_in_word_finds_every_set_bit(form, rng):
    words = np.concatenate([rng.integers(0, 2**32, 200), 1 << np.arange(32), [2**32 - 1]]).astype(np.uint32)
    for word in words:
        places = [place for place in range(32) if int(word) >> place & 1]
        found = form(bits.select_in_word, np.full(len(places), word), np.arange(len(places), dtype=np.int32))
        assert found.tolist() == places


def test_select_and_rank_in_bricks_against_nonzero(form, rng):
    voxels, words = _set(rng)
    for flags, brick in zip(voxels.reshape(len(voxels), -1), words, strict=True):
        places = np.flatnonzero(flags)
        many = np.broadcast_to(brick, (512, 16))
        k = np.minimum(np.arange(512), max(len(places) - 1, 0)).astype(np.int32)
        if len(places):
            np.testing.assert_array_equal(form(bits.select_in_brick, many, k), places[k])
        every = np.arange(512, dtype=np.int32)
        np.testing.assert_array_equal(form(bits.rank_in_brick, many, every), np.cumsum(flags) - flags)
        np.testing.assert_array_equal(form(bits.test_bit, many, every), flags)
