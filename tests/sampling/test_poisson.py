"""Small Poisson counts: the law, the far tail, and the smallest means."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxkit.sampling.counter import words
from jaxkit.sampling.poisson import poisson

DRAWS = 400_000


def _counts(mean, seed):
    high, low = words(jax.random.key(seed), "test", jnp.arange(DRAWS, dtype=jnp.uint32), jnp.uint32(0))
    return np.asarray(poisson(jnp.full(DRAWS, mean, jnp.float32), high, low))


@pytest.mark.parametrize("mean", [0.01, 0.4, 1.0, 3.7, 8.0])
def test_counts_follow_the_law(mean):
    counts = np.bincount(_counts(mean, 11), minlength=50)
    expected = DRAWS * stats.poisson.pmf(np.arange(50), mean)
    last = np.nonzero(expected > 10)[0][-1]
    seen, due = (np.append(v[:last], v[last:].sum()) for v in (counts, expected))
    assert stats.chisquare(seen, due * seen.sum() / due.sum()).pvalue > 1e-6


def test_no_mean_no_count():
    assert not _counts(0.0, 12).any()


def _words_of(probability):
    """The two words whose uniform is the given probability."""
    whole = int(probability * 2.0**64)
    return jnp.uint32(whole >> 32), jnp.uint32(whole & 0xFFFFFFFF)


@pytest.mark.parametrize("mean", [1e-12, 1e-9, 1e-7, 1e-4, 0.1, 2.0, 8.0])
def test_one_or_more_has_its_probability_to_a_millionth(mean):
    single = float(np.float32(mean))
    exact = -np.expm1(-single)
    at = [int(poisson(jnp.float32(single), *_words_of(exact * (1 + side)))) for side in (-1e-6, 1e-6)]
    assert at[0] >= 1 and (at[1] == 0 or exact * (1 + 1e-6) >= 1)


@pytest.mark.parametrize("mean", [0.3, 2.0, 8.0])
@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_every_step_has_its_probability(mean, k):
    exact = stats.poisson.sf(k - 1, float(np.float32(mean)))
    at = [int(poisson(jnp.float32(mean), *_words_of(exact * (1 + side)))) for side in (-3e-6, 3e-6)]
    assert at == [k, k - 1]


def test_counts_grow_with_the_mean():
    assert (_counts(2.5, 13) <= _counts(2.6, 13)).all()
