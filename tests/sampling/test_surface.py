"""Exposed surfaces: areas of known solids, laws along their axes, normals, and what does not change a draw."""

import math

import jax
import numpy as np
import pytest
from scipy import integrate, stats

from jaxkit.sampling.draw import LowAcceptanceError
from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.surface import sample_surface, surface_of_all
from tests.reference import union
from tests.reference.union import FIVE_SIGMA, sigmas
from tests.sampling import clouds

COUNT = 50_000


def _draw(shapes, count=COUNT, seed=1, **settings):
    return sample_surface(jax.random.key(seed), shapes.cloud(), count=count, **settings)


def _right(draw, area):
    return abs(draw.area - area) < 5 * draw.area_stderr < 0.04 * area


def _one(semi_axes, turned=True):
    quaternion = np.array([[0.3, -0.5, 0.8, 0.1]]) if turned else np.array([[1.0, 0, 0, 0]])
    return clouds.Shapes(np.zeros((1, 3)), np.array([semi_axes]), quaternion / np.linalg.norm(quaternion))


def test_a_ball_has_its_area_and_radial_normals():
    draw = _draw(clouds.balls([clouds.UTM], 2.0))
    assert _right(draw, 16 * math.pi) and draw.accepted == draw.proposals
    outward = (draw.to_float64() - clouds.UTM) / 2.0
    np.testing.assert_allclose(np.linalg.norm(outward, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(draw.normal, outward, atol=2e-6)
    assert stats.kstest(draw.normal[:, 2], stats.uniform(-1, 2).cdf).pvalue > FIVE_SIGMA


@pytest.mark.parametrize("half", [0.1, 0.7, 6.0], ids=["disc", "oblate", "needle"])
def test_points_of_a_spheroid_follow_its_area(half):
    """The area of a turned curve up to each height, from the integral of 2 pi r sqrt(1 + r'^2)."""
    shapes = _one((1.0, 1.0, half))
    draw = _draw(shapes)
    angle = np.linspace(0, math.pi, 20_001)
    element = 2 * math.pi * np.sin(angle) * np.hypot(np.cos(angle), half * np.sin(angle))
    area = integrate.cumulative_simpson(element, x=angle, initial=0)
    assert _right(draw, area[-1])
    height = np.clip(draw.to_float64() @ shapes.solids().matrix[0][:, 2] / half, -1, 1)
    assert stats.kstest(np.arccos(-height), lambda t: np.interp(t, angle, area / area[-1])).pvalue > FIVE_SIGMA


def test_normals_are_gradients_of_the_form(rng):
    shapes = _one((3.0, 1.0, 0.2))
    draw, (_, semi_axes, matrix) = _draw(shapes), shapes.solids()
    gradient = (draw.to_float64() @ matrix[0] / semi_axes[0] ** 2) @ matrix[0].T
    gradient /= np.linalg.norm(gradient, axis=1, keepdims=True)
    np.testing.assert_allclose(draw.normal, gradient, atol=1e-4)
    assert surface_of_all(shapes.cloud()) == pytest.approx(
        union.surface(shapes.solids(), 10**6, np.random)[1], rel=0.012
    )


@pytest.mark.parametrize(("radius", "shift"), [(1.0, (0, 0, 0)), (0.05, clouds.UTM)], ids=["plain", "utm"])
def test_what_two_balls_hide_of_each_other_is_left_out(radius, shift):
    draw = _draw(clouds.lens(radius * np.eye(3), shift))
    assert _right(draw, 6 * math.pi * radius**2)
    assert sigmas(draw.accepted, draw.proposals, 0.75) < 5
    assert sigmas((draw.source == 0).sum(), COUNT, 0.5) < 5
    plain = (draw.to_float64() - np.asarray(shift)) / radius
    distance = np.linalg.norm(plain[:, None] - clouds.LENS_CENTERS, axis=2)
    assert distance.min() > 1 - 1e-5
    np.testing.assert_allclose(distance[np.arange(COUNT), draw.source], 1, atol=1e-5)


def test_a_hidden_body_has_no_points():
    draw = _draw(clouds.nested())
    assert (draw.source == 0).all() and _right(draw, 4 * math.pi)


def test_copies_of_a_body_show_their_surface_once():
    draw = _draw(clouds.identical_balls(200))
    assert set(draw.source) == {0, 200} and _right(draw, 8 * math.pi)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["blobs", "flakes", "needles", "decades"])
def test_random_clouds_agree_with_their_reference(kind, rng):
    for seed in range(5):
        shapes = clouds.random_cloud(rng, 60, 2.0, kind)
        draw = _draw(shapes, 20_000, seed)
        truth, area, error = union.surface(shapes.solids(), 10_000, rng)
        assert abs(draw.area - area) < 5 * math.hypot(error, draw.area_stderr)
        assert union.chi_square(draw.to_float64(), truth) > FIVE_SIGMA
        assert union.kolmogorov(draw.to_float64(), truth) > FIVE_SIGMA


def test_neither_chunks_nor_the_count_move_a_point(rng):
    shapes = clouds.random_cloud(rng, 150_000)
    whole = _draw(shapes, 1000)
    for other in (_draw(shapes, 1000, chunk=2**16), _draw(shapes, 700)):
        np.testing.assert_array_equal(other.position.cell, whole.position.cell[: len(other.source)])
        np.testing.assert_array_equal(other.position.offset, whole.position.offset[: len(other.source)])
        np.testing.assert_array_equal(other.normal, whole.normal[: len(other.source)])


def test_a_count_beyond_the_first_window_is_reached():
    draw = _draw(clouds.lens(), 200_000)
    assert len(draw.source) == len(draw.normal) == 200_000 and _right(draw, 6 * math.pi)
    assert len(np.unique(draw.to_float64(), axis=0)) > 199_900


def test_no_points_of_anything_are_none():
    for cloud in (clouds.lens().cloud(), Ellipsoids.from_spheres(np.zeros((0, 3)), np.zeros(0))):
        draw = sample_surface(jax.random.key(0), cloud, count=0)
        assert draw.points().shape == draw.normal.shape == (0, 3) and math.isnan(draw.area)


def test_impossible_counts_are_refused():
    with pytest.raises(ValueError, match="none of the 0 rows"):
        sample_surface(jax.random.key(0), Ellipsoids.from_spheres(np.zeros((0, 3)), np.zeros(0)), count=1)
    with pytest.raises(ValueError, match="at least 0, got -1"):
        _draw(clouds.lens(), -1)
    with pytest.raises(LowAcceptanceError, match="exposed.*max_proposals"):
        _draw(clouds.nested(), 10**6, max_proposals=10**5)


@pytest.mark.slow
def test_devices_do_not_matter(rng):
    center, size = rng.uniform(-4, 4, (3000, 3)), rng.uniform(0.2, 0.6, (3000, 3))
    cloud = Ellipsoids.from_axes(center, size)
    mesh = jax.make_mesh((2,), ("bodies",), devices=jax.devices()[:2])
    alone, shared = (sample_surface(jax.random.key(3), cloud, count=2000, mesh=one) for one in (None, mesh))
    np.testing.assert_array_equal(shared.to_float64(), alone.to_float64())
    np.testing.assert_array_equal(shared.normal, alone.normal)
