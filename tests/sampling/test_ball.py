"""Uniform in the ball and on the sphere: the known marginals of whatever direction."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxkit.sampling.ball import in_ball, on_sphere
from jaxkit.sampling.counter import words

DRAWS = 200_000


def _words(seed):
    a = jnp.arange(DRAWS, dtype=jnp.uint32)
    return [word for lane in range(3) for word in words(jax.random.key(seed), "test", a, jnp.uint32(lane))]


@pytest.fixture(scope="module")
def ball():
    made = _words(21)
    return np.stack(in_ball(made[:3], *made[3:5]), 1).astype(np.float64)


@pytest.fixture(scope="module")
def sphere():
    return np.stack(on_sphere(*_words(22)[:2]), 1).astype(np.float64)


def test_cubed_radii_are_uniform_and_below_one(ball):
    radius = np.linalg.norm(ball, axis=1)
    assert radius.max() < 1 + 1e-6
    assert stats.kstest(radius**3, "uniform").pvalue > 1e-6


AXES = np.float64([[1, 0, 0], [0, 1, 0], [0, 0, 1], [2, -1, 2], [-1, 1, 1]])


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_every_axis_sees_the_same_ball(axis, ball):
    along = ball @ (axis / np.linalg.norm(axis))
    assert stats.kstest(along, lambda t: (2 + 3 * t - t**3) / 4).pvalue > 1e-6


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_heights_on_the_sphere_are_uniform(axis, sphere):
    np.testing.assert_allclose(np.linalg.norm(sphere, axis=1), 1, atol=1e-6)
    assert stats.kstest((sphere @ (axis / np.linalg.norm(axis)) + 1) / 2, "uniform").pvalue > 1e-6


def test_coordinates_are_uncorrelated(ball):
    np.testing.assert_allclose(ball.T @ ball / DRAWS, np.eye(3) / 5, atol=5 * 0.2 / np.sqrt(DRAWS))


def test_extreme_words_give_finite_points_inside():
    ends = [jnp.asarray(np.repeat([0, 2**32 - 1], 4).astype(np.uint32)) for _ in range(4)]
    point = np.stack(in_ball(tuple(ends[:3]), ends[3], jnp.arange(8, dtype=jnp.uint32) << 29), 1)
    assert np.isfinite(point).all() and (np.linalg.norm(point, axis=1) < 1 + 1e-6).all()
