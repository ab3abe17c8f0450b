"""Distances between points: never less than the radius, and hardly a place left for another."""

import jax
import numpy as np
import pytest
from scipy.spatial import cKDTree

from jaxkit.sampling.spacing import _throw, poisson_disk, thin
from tests.reference import union
from tests.reference.union import sigmas
from tests.sampling import clouds


def _one_by_one(points, earlier, radius):
    """The rows that stick when they are thrown in turn."""
    kept, rows = list(earlier), []
    for row, point in enumerate(points):
        if all(np.linalg.norm(point - other) >= radius for other in kept):
            kept.append(point)
            rows.append(row)
    return rows


def _nearest(points):
    return cKDTree(points).query(points, k=2)[0][:, 1].min()


@pytest.mark.parametrize("radius", [0.01, 0.15, 0.5, 3.0])
def test_rounds_find_what_the_obvious_loop_finds(radius, rng):
    points = rng.random((600, 3))
    points[300:310] = points[:10]
    earlier = points[500:][_one_by_one(points[500:], [], radius)]
    stuck, free = _throw(points[:500], earlier, radius)
    np.testing.assert_array_equal(stuck, _one_by_one(points[:500], earlier, radius))
    distance = np.linalg.norm(points[:500, None] - earlier, axis=2).min(1)
    assert free == (distance >= radius).mean()


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_thinned_set_is_spaced_and_full(dimensions, rng):
    points, radius = rng.random((20_000, dimensions)), 0.05
    chosen = thin(jax.random.key(0), points, radius)
    assert _nearest(points[chosen]) >= radius
    distance, _ = cKDTree(points[chosen]).query(points[~chosen])
    assert distance.max() < radius * (1 + 1e-9)


def test_copies_of_a_point_leave_one():
    assert thin(jax.random.key(0), np.ones((3000, 3)), 0.1).sum() == 1
    assert thin(jax.random.key(0), np.zeros((0, 3)), 0.1).shape == (0,)


def test_every_point_is_as_likely_to_stay():
    pairs = np.stack([np.arange(2000.0), np.zeros(2000)], 1).repeat(2, 0)
    pairs[1::2, 1] = 0.01
    chosen = thin(jax.random.key(1), pairs, 0.1)
    assert chosen.sum() == 2000 and sigmas(chosen[0::2].sum(), 2000, 0.5) < 5


@pytest.mark.parametrize(("radius", "shift"), [(1.0, (0, 0, 0)), (0.05, clouds.UTM)], ids=["plain", "utm"])
def test_a_union_is_filled_with_spaced_points(radius, shift, rng):
    shapes, apart = clouds.lens(radius * np.eye(3), shift), 0.2 * radius
    draw = poisson_disk(jax.random.key(2), shapes.cloud(), radius=apart, uncovered=0.02)
    world = draw.to_float64()
    assert _nearest(world) >= apart and len(world) > 500 and draw.uncovered <= 0.02
    rim = clouds.lens(radius * (1 + 1e-5) * np.eye(3), np.asarray(shift) - np.array([5e-6 * radius, 0, 0]))
    covered = union.covered_by(rim.solids(), world)
    assert covered[np.arange(len(world)), draw.source].all()
    probes = union.sample(shapes.solids(), 20_000, rng)
    empty = int((cKDTree(world).query(probes)[0] > apart).sum())
    assert empty < 20_000 * 0.02 + 5 * np.sqrt(20_000 * 0.02)


def test_bodies_apart_get_a_point_each():
    grid = np.stack(np.meshgrid(*[np.arange(5.0)] * 3), -1).reshape(-1, 3)
    draw = poisson_disk(jax.random.key(3), clouds.balls(grid, 0.1).cloud(), radius=0.5, uncovered=1e-3)
    assert sorted(draw.source) == list(range(125)) and draw.points().shape == (125, 3)


def test_chunks_move_no_point(rng):
    cloud = clouds.random_cloud(rng, 100_000).cloud()
    first, second = (
        poisson_disk(jax.random.key(4), cloud, radius=20.0, uncovered=0.1, chunk=chunk) for chunk in (2**16, 2**20)
    )
    np.testing.assert_array_equal(first.to_float64(), second.to_float64())


def test_too_many_candidates_are_refused():
    with pytest.raises(RuntimeError, match="max_candidates=5000"):
        poisson_disk(jax.random.key(0), clouds.lens().cloud(), radius=1e-3, max_candidates=5000)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"radius": 0.0}, "radius must be positive"),
        ({"radius": np.inf}, "radius must be positive"),
        ({"radius": 1.0, "uncovered": 1.0}, "uncovered must be"),
    ],
)
def test_wrong_arguments_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        poisson_disk(jax.random.key(0), clouds.lens().cloud(), **settings)
    with pytest.raises(ValueError, match="finite"):
        thin(jax.random.key(0), np.full((2, 3), np.nan), 1.0)
