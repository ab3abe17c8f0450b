"""Random fields: their bits, their distribution, and their independence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxkit import noise
from tests.reference import hashing

SHAPE = (200, 500)
FIELDS = {"uniform": noise.uniform, "normal": noise.normal, "exact_normal": noise.exact_normal}
TRUTH = {"uniform": stats.uniform(), "normal": stats.norm(), "exact_normal": stats.norm()}
SUSPICIOUS = 1e-4


def _field(function, number=0, shape=SHAPE):
    return np.asarray(function(noise.seed(jax.random.key(number)), shape)).astype(np.float64)


def _correlation(left, right):
    """Standardised: of order one where there is none."""
    return np.corrcoef(left.ravel(), right.ravel())[0, 1] * np.sqrt(left.size)


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (3, 4, 2), (1, 7), (0, 3)])
def test_bits_are_those_of_the_hash(shape):
    for seed in ((0, 0), (1, 2), (0xDEADBEEF, 0xFFFFFFFF)):
        ours = noise.bits(jnp.asarray(seed, jnp.uint32), shape)
        np.testing.assert_array_equal(ours, hashing.bits(seed, shape), strict=True)


def test_a_larger_field_starts_with_the_same_values():
    small, large = (noise.bits(noise.seed(jax.random.key(0)), shape) for shape in ((4, 5), (9, 11)))
    np.testing.assert_array_equal(large[:4, :5], small)


@pytest.mark.parametrize("name", FIELDS)
def test_jit_and_vmap_keep_the_bits(name):
    seeds = jax.vmap(noise.seed)(jax.random.split(jax.random.key(1), 3))
    mapped = jax.jit(jax.vmap(lambda seed: FIELDS[name](seed, (6, 7))))(seeds)
    for index in range(3):
        np.testing.assert_allclose(mapped[index], FIELDS[name](seeds[index], (6, 7)), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("name", FIELDS)
def test_fields_are_float32_of_the_shape_asked_for(name):
    field = FIELDS[name](noise.seed(jax.random.key(0)), (2, 3, 4))
    assert (field.shape, field.dtype) == ((2, 3, 4), jnp.float32)


def test_uniform_lies_in_its_range_on_a_grid():
    values = _field(noise.uniform)
    assert values.min() >= 0 and values.max() < 1
    np.testing.assert_array_equal(values * 2**24, np.round(values * 2**24))


@pytest.mark.parametrize("name", ["uniform", "exact_normal"])
def test_the_distribution_is_the_stated_one(name):
    for number in range(4):
        assert stats.kstest(_field(FIELDS[name], number).ravel(), TRUTH[name].cdf).pvalue > SUSPICIOUS


def test_the_approximate_normal_is_as_close_as_stated():
    values = np.concatenate([_field(noise.normal, number).ravel() for number in range(8)])
    error = 1 / np.sqrt(values.size)
    assert np.abs(values).max() <= 3.46
    np.testing.assert_allclose(values.mean(), 0, atol=4 * error)
    np.testing.assert_allclose(values.var(), 1, atol=6 * error)
    np.testing.assert_allclose(stats.skew(values), 0, atol=10 * error)
    np.testing.assert_allclose(stats.kurtosis(values), -0.3, atol=0.02)
    assert stats.kstest(values, stats.norm.cdf).statistic < 0.01


def test_the_moments_of_the_approximate_normal_are_exact():
    assert noise.BYTES_MEAN == 4 * np.arange(256).mean()
    np.testing.assert_allclose(noise.BYTES_STD, np.sqrt(4 * np.arange(256).var()))


def test_the_exact_normal_has_tails():
    values = np.concatenate([_field(noise.exact_normal, number).ravel() for number in range(10)])
    beyond = 2 * stats.norm.sf(4) * values.size
    assert abs((np.abs(values) > 4).sum() - beyond) < 5 * np.sqrt(beyond)
    assert 4.2 < np.abs(values).max() < 5.5


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("step", [(0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (1, 1), (0, 64), (64, 0)], ids=str)
def test_neighbours_are_uncorrelated(name, step):
    values = _field(FIELDS[name], 3)
    down, across = step
    left, right = values[: SHAPE[0] - down, : SHAPE[1] - across], values[down:, across:]
    assert abs(_correlation(left, right)) < 4.5
    assert abs(_correlation(np.abs(left - left.mean()), np.abs(right - right.mean()))) < 4.5


@pytest.mark.parametrize("name", FIELDS)
def test_members_and_rows_are_independent(name):
    members = [_field(FIELDS[name], number) for number in range(4)]
    for index, left in enumerate(members):
        for right in members[:index]:
            assert abs(_correlation(left, right)) < 4.5
    rows = np.corrcoef(members[0]) - np.eye(SHAPE[0])
    assert np.abs(rows).max() * np.sqrt(SHAPE[1]) < 6
    np.testing.assert_allclose(members[0].mean(1).std() * np.sqrt(SHAPE[1]), members[0].std(), rtol=0.25)


def test_nearby_seeds_give_unrelated_fields():
    fields = [np.asarray(noise.uniform(jnp.asarray([5, low], jnp.uint32), SHAPE)) for low in range(4)]
    fields += [np.asarray(noise.uniform(jnp.asarray([high, 0], jnp.uint32), SHAPE)) for high in (6, 7, 8)]
    for index, left in enumerate(fields):
        for right in fields[:index]:
            assert abs(_correlation(left, right)) < 4.5


def test_all_bits_of_the_hash_are_fair():
    values = np.asarray(noise.bits(noise.seed(jax.random.key(9)), SHAPE)).ravel()
    ones = np.array([(values >> place & 1).mean() for place in range(32)])
    assert np.abs(ones - 0.5).max() < 5 * 0.5 / np.sqrt(values.size)
    assert len(np.unique(values)) > 0.9999 * values.size - 50


def test_a_seed_is_two_words_from_a_typed_key():
    seed = noise.seed(jax.random.key(0))
    assert (seed.shape, seed.dtype) == ((2,), jnp.uint32)
    assert not np.array_equal(seed, noise.seed(jax.random.key(1)))
