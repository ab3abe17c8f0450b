"""Words of the counter: those of the published generator, and numbers of the stated precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry_2x32
from scipy import stats

from jaxkit.sampling.counter import exponential, stream, threefry, uniform, uniform_fine, words


def test_words_are_those_of_jax(rng):
    key = jnp.asarray(rng.integers(0, 2**32, 2, dtype=np.uint32))
    a, b = (jnp.asarray(rng.integers(0, 2**32, 1001, dtype=np.uint32)) for _ in range(2))
    expected = threefry_2x32(key, jnp.concatenate([a, b]))
    np.testing.assert_array_equal(jnp.concatenate(threefry(key, a, b)), expected)
    np.testing.assert_array_equal(jnp.concatenate(jax.jit(threefry)(key, a, b)), expected)


def test_words_are_those_of_the_paper():
    """The known answers that Random123 publishes for threefry2x32 with 20 rounds."""
    ones = jnp.uint32(0xFFFFFFFF)
    zero = jnp.uint32(0)
    assert [int(w) for w in threefry(jnp.stack([zero, zero]), zero, zero)] == [0x6B200159, 0x99BA4EFE]
    assert [int(w) for w in threefry(jnp.stack([ones, ones]), ones, ones)] == [0x1CB996FC, 0xBB002BE7]


def test_names_indices_and_keys_make_streams_of_their_own():
    keys = [stream(jax.random.key(seed), name, index=i) for seed in (0, 1) for name in ("a", "b") for i in (0, 1)]
    assert len({tuple(np.asarray(key)) for key in keys}) == len(keys)
    np.testing.assert_array_equal(stream(jax.random.key(0), "a"), keys[0])


@pytest.mark.parametrize("kind", ["threefry2x32", "rbg"])
def test_every_kind_of_key_is_taken(kind):
    one, other = (stream(jax.random.key(seed, impl=kind), "a") for seed in (3, 4))
    assert one.shape == (2,) and one.dtype == jnp.uint32
    assert not np.array_equal(one, other)


def test_words_depend_on_both_counters_and_are_balanced():
    a, b = jnp.meshgrid(jnp.arange(256, dtype=jnp.uint32), jnp.arange(256, dtype=jnp.uint32))
    high, low = words(jax.random.key(5), "test", a, b)
    assert len(np.unique(np.asarray(high).astype(np.uint64) << np.uint64(32) | np.asarray(low))) == a.size
    for word in (high, low):
        share = np.unpackbits(np.asarray(word).view(np.uint8)).mean()
        assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(32 * a.size)
        assert stats.kstest(np.asarray(uniform(word)).ravel(), "uniform").pvalue > 1e-6


def test_uniforms_stay_inside_the_interval():
    extreme = jnp.asarray([0, 2**32 - 1, 2**31], jnp.uint32)
    np.testing.assert_array_equal(uniform(extreme), np.float32([2**-24, 1 - 2**-24, 0.5 + 2**-24]))


def test_fine_uniforms_keep_their_relative_precision(rng):
    high = np.concatenate([rng.integers(0, 2**32, 500), 2 ** rng.integers(0, 32, 500)]).astype(np.uint32)
    low = rng.integers(0, 2**32, 1000, dtype=np.uint32)
    expected = high.astype(np.float64) / 2.0**32 + low.astype(np.float64) / 2.0**64
    np.testing.assert_allclose(uniform_fine(jnp.asarray(high), jnp.asarray(low)), expected, rtol=1.5e-7)
    assert uniform_fine(jnp.uint32(0), jnp.uint32(7)) == np.float32(7 * 2.0**-64)


@pytest.mark.parametrize("probability", [1e-18, 1e-12, 1e-9, 1e-5, 0.1, 0.5, 0.99])
def test_exponentials_fall_short_of_small_times_with_the_right_probability(probability):
    """The number that the words of a probability give is the time that is not reached with this probability."""
    whole = int(probability * 2.0**64)
    time = exponential(jnp.uint32(whole >> 32), jnp.uint32(whole & 0xFFFFFFFF))
    assert -np.expm1(-np.float64(time)) == pytest.approx(probability, rel=1e-6)


def test_exponentials_follow_their_law():
    high, low = words(jax.random.key(6), "test", jnp.arange(200_000, dtype=jnp.uint32), jnp.uint32(0))
    assert stats.kstest(np.asarray(exponential(high, low), np.float64), "expon").pvalue > 1e-6
