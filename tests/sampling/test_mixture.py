"""Mixtures: overlaps count as often as there are bodies; normal laws cut off at the surface."""

import jax
import numpy as np
import pytest
from scipy import stats

from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.mixture import rows_of, sample_mixture
from tests.reference import union
from tests.reference.union import FIVE_SIGMA, sigmas
from tests.sampling import clouds

COUNT = 50_000


def _draw(shapes, count=COUNT, seed=1, **settings):
    return sample_mixture(jax.random.key(seed), shapes.cloud(), count=count, **settings)


def test_a_lens_is_counted_twice():
    draw = _draw(clouds.lens())
    regions = clouds.lens_regions(draw.to_float64())
    assert sigmas(regions["both"], COUNT, 10 / 32) < 5
    assert sigmas((draw.source == 0).sum(), COUNT, 0.5) < 5
    assert draw.volume == pytest.approx(2 * clouds.BALL, rel=1e-12)


@pytest.mark.parametrize("gaussian", [None, 2.5])
def test_bodies_weigh_by_their_volumes(gaussian, rng):
    shapes = clouds.random_cloud(rng, 50, 2.0, "decades")
    draw = _draw(shapes, gaussian=gaussian)
    hits = np.bincount(draw.source, minlength=50)
    truth = 10_000 * COUNT * shapes.volumes() / shapes.volumes().sum()
    assert union.alike(hits, np.round(truth).astype(int)) > FIVE_SIGMA
    far = clouds.Shapes(shapes.center, shapes.semi_axes * (1 + 1e-5), shapes.quaternion)
    covered = union.covered_by(far.solids(), draw.to_float64())
    assert covered[np.arange(COUNT), draw.source].all()


def test_points_of_a_body_are_uniform(rng):
    shapes = clouds.mapped_balls([[0, 0, 0]], 1.0, rng.normal(size=(3, 3)))
    truth = union.sample(shapes.solids(), COUNT, rng)
    points = _draw(shapes).to_float64()
    assert union.chi_square(points, truth) > FIVE_SIGMA and union.kolmogorov(points, truth) > FIVE_SIGMA


@pytest.mark.parametrize("deviations", [0.5, 2.0, 4.5])
def test_a_normal_law_is_cut_off_at_the_surface(deviations):
    shift = np.array(clouds.UTM)
    shapes = clouds.Shapes(shift[None], np.array([[3.0, 0.5, 0.02]]), np.array([[0.8, 0, 0.6, 0]]))
    points = _draw(shapes, gaussian=deviations).to_float64() - shift
    white = points @ shapes.solids().matrix[0] / shapes.semi_axes * deviations
    radius = np.linalg.norm(white, axis=1)
    assert radius.max() < deviations * (1 + 1e-5)
    law = stats.chi(3)
    assert stats.kstest(radius, lambda r: law.cdf(r) / law.cdf(deviations)).pvalue > FIVE_SIGMA
    assert stats.kstest(white[:, 1] / radius, stats.uniform(-1, 2).cdf).pvalue > FIVE_SIGMA


def test_neither_chunks_nor_the_count_move_a_point(rng):
    shapes = clouds.random_cloud(rng, 150_000)
    whole = _draw(shapes, 1000, gaussian=3.0)
    for other in (_draw(shapes, 1000, gaussian=3.0, chunk=2**16), _draw(shapes, 700, gaussian=3.0)):
        np.testing.assert_array_equal(other.source, whole.source[: len(other.source)])
        np.testing.assert_array_equal(other.points(), whole.points()[: len(other.source)])


def test_rows_are_read_in_any_order(rng):
    cloud = clouds.random_cloud(rng, 150_000).cloud()
    source = rng.integers(0, 150_000, 1000).astype(np.int32)
    for leaf, whole in zip(jax.tree.leaves(rows_of(cloud, source)), jax.tree.leaves(cloud.bodies), strict=True):
        np.testing.assert_array_equal(leaf, np.asarray(whole)[source])


def test_no_points_of_anything_are_none():
    nothing = Ellipsoids.from_spheres(np.zeros((0, 3)), np.zeros(0))
    for cloud in (clouds.lens().cloud(), nothing):
        for gaussian in (None, 2.0):
            draw = sample_mixture(jax.random.key(0), cloud, count=0, gaussian=gaussian)
            assert draw.points().shape == draw.to_float64().shape == (0, 3)
    with pytest.raises(ValueError, match="no body among 0"):
        sample_mixture(jax.random.key(0), nothing, count=1)


@pytest.mark.parametrize(("settings", "message"), [({"count": -1}, "got -1"), ({"gaussian": 6.0}, "got 6.0")])
def test_wrong_arguments_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        _draw(clouds.lens(), **settings)
