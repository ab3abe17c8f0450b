"""Unions whose volumes and shares are known, through `sample_union`, with every method; all at five sigma."""

import math

import jax
import numpy as np
import pytest
from scipy import stats

from jaxkit.sampling.union import METHODS, sample_union
from jaxkit.sampling.volume import union_volume
from tests.reference import union
from tests.reference.union import FIVE_SIGMA, sigmas
from tests.sampling import clouds

COUNT = 100_000
with_every_method = pytest.mark.parametrize("method", sorted(METHODS))
MAPS = {
    "plain": np.eye(3),
    "turned": [[0.36, 0.48, -0.8], [-0.8, 0.6, 0], [0.48, 0.64, 0.6]],
    "sheared": [[2, 0.5, 0], [0.1, 0.4, 0.3], [-1, 0, 0.7]],
    "mirrored": [[-3, 0, 0], [0, 0.2, 1], [0.5, 0, 1]],
    "flat": [[1, 2, 0], [0, 1, 5], [0.01, 0.0, 0.02]],
}


def _draw(shapes, method, seed=1, count=COUNT, **settings):
    return sample_union(jax.random.key(seed), shapes.cloud(), count=count, method=method, **settings)


def _has_volume(stats, truth):
    return abs(stats.volume - truth) < 5 * stats.volume_stderr < 0.05 * truth


@with_every_method
@pytest.mark.parametrize("semi_axes", [(1, 1, 1), (5, 2, 0.3), (100, 0.01, 0.01)], ids=["ball", "flat", "needle"])
def test_a_body_is_filled_evenly(semi_axes, method):
    """Radii, coordinates and angles of the ball that the body is an image of: r^3, (2 + 3 t - t^3) / 4, all alike."""
    shapes = clouds.Shapes(np.array([[7.0, -3, 2]]), np.array([semi_axes]), np.array([[0.1, 0.5, -0.7, 0.5]]))
    draw = _draw(shapes, method)
    white = (draw.to_float64() - shapes.center) @ shapes.solids().matrix[0] / shapes.semi_axes
    radius = np.linalg.norm(white, axis=1)
    assert radius.max() < 1 + 1e-5 + 1e-7 * max(semi_axes) / min(semi_axes)
    p = [stats.kstest(radius**3, stats.uniform.cdf).pvalue]
    p += [stats.kstest(white[:, axis], lambda t: (2 + 3 * t - t**3) / 4).pvalue for axis in range(3)]
    angle = np.arctan2(white[:, 1], white[:, 0])
    p.append(stats.kstest(angle, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue)
    assert min(p) > FIVE_SIGMA
    assert _has_volume(draw.stats, clouds.BALL * math.prod(semi_axes))


@with_every_method
@pytest.mark.parametrize("matrix", MAPS.values(), ids=MAPS)
def test_a_lens_under_any_affine_map(matrix, method):
    draw = _draw(clouds.lens(matrix, (3, 5, -2)), method)
    regions = clouds.lens_regions(draw.to_float64(), matrix, (3, 5, -2))
    assert sum(regions.values()) > COUNT * (1 - 1e-4)
    assert all(sigmas(regions[name], COUNT, share) < 5 for name, share in clouds.LENS_SHARES.items())
    assert _has_volume(draw.stats, clouds.LENS_VOLUME * abs(np.linalg.det(matrix)))


def test_the_join_keeps_27_of_32_points_of_a_lens():
    draw = _draw(clouds.lens(), "join")
    assert sigmas(draw.stats.accepted, draw.stats.proposals, 27 / 32) < 5
    assert draw.stats.mean_cover == pytest.approx(32 / 27, rel=0.02)


@with_every_method
def test_a_lens_at_map_coordinates(method):
    shapes = clouds.utm_lens()
    draw = _draw(shapes, method)
    regions = clouds.lens_regions(draw.to_float64(), 0.05 * np.eye(3), clouds.UTM)
    assert sum(regions.values()) > COUNT * (1 - 1e-4)
    assert all(sigmas(regions[name], COUNT, share) < 5 for name, share in clouds.LENS_SHARES.items())
    assert _has_volume(draw.stats, clouds.LENS_VOLUME * 0.05**3)


@with_every_method
def test_a_ball_within_a_ball(method):
    shapes = clouds.nested()
    draw = _draw(shapes, method)
    inner = union.covered_by(shapes.solids(), draw.to_float64())[:, 1].sum()
    assert sigmas(inner, COUNT, 1 / 8) < 5 and (draw.source == 0).all()
    assert _has_volume(draw.stats, clouds.BALL)


@with_every_method
def test_a_hundred_copies_of_a_ball_weigh_as_one(method):
    draw = _draw(clouds.identical_balls(100), method, count=20_000)
    assert sigmas((draw.to_float64()[:, 1] > 2.5).sum(), 20_000, 0.5) < 5
    assert set(draw.source) == {0, 100}
    assert abs(draw.stats.volume - 2 * clouds.BALL) < 5 * draw.stats.volume_stderr


@pytest.mark.slow
def test_ten_thousand_copies_of_a_ball_weigh_as_one():
    draw = _draw(clouds.identical_balls(), "auto", count=2000)
    assert sigmas((draw.to_float64()[:, 1] > 2.5).sum(), 2000, 0.5) < 5
    assert abs(draw.stats.volume - 2 * clouds.BALL) < 5 * draw.stats.volume_stderr


@with_every_method
def test_a_flake_through_a_ball(method):
    shapes = clouds.flake_through_ball()
    draw = _draw(shapes, method)
    points = draw.to_float64()
    in_ball = (points**2).sum(1) <= 1
    assert sigmas((~in_ball).sum(), COUNT, clouds.FLAKE_SHARES["outside"]) < 5
    in_flake = union.covered_by(shapes.solids(), points)[:, 1]
    assert sigmas((in_ball & in_flake).sum(), COUNT, clouds.FLAKE_SHARES["both"]) < 5
    height = points[~in_ball] @ shapes.solids().matrix[1][:, 2]
    assert np.abs(height).max() < 1e-3 * (1 + 1e-3)


@pytest.mark.slow
@with_every_method
def test_one_large_ball_and_a_million_small_ones(method):
    draw = _draw(clouds.ball_and_many(), method)
    assert sigmas((draw.source == 0).sum(), COUNT, 0.5) < 5
    small = draw.source[draw.source > 0] - 1
    cell = sum(part // 20 * 5**axis for axis, part in enumerate(np.unravel_index(small, (100, 100, 100))))
    assert stats.chisquare(np.bincount(cell, minlength=125)).pvalue > FIVE_SIGMA
    assert _has_volume(draw.stats, 2 * clouds.BALL * 40.0**3)


@pytest.mark.slow
@with_every_method
@pytest.mark.parametrize("kind", ["blobs", "flakes", "needles", "decades"])
def test_random_clouds_agree_with_rejection_from_the_box(kind, method, rng):
    count, p = (1000 if kind == "needles" else 5000), []
    for seed in range(20):
        shapes = clouds.random_cloud(rng, 60, rng.uniform(1.2, 4), kind)
        truth = union.sample(shapes.solids(), 2 * count, rng)
        draw, (volume, error) = _draw(shapes, method, seed, count), union.volume(shapes.solids(), 20_000, rng)
        assert abs(draw.stats.volume - volume) < 5 * math.hypot(draw.stats.volume_stderr, error)
        p += [union.chi_square(draw.to_float64(), truth, 4), union.kolmogorov(draw.to_float64(), truth)]
    assert min(p) > FIVE_SIGMA / len(p)
    assert np.median(p) > 0.1


@with_every_method
def test_counts_scatter_as_independent_points_do(method):
    """A sum of chi-squares that is too small would show points that avoid each other, one too large that clump."""
    cells, total, replicates = 64, 0.0, 20
    for seed in range(replicates):
        points = _draw(clouds.balls([[0, 0, 0]], 1.0), method, seed, 6400).to_float64()
        shell = np.minimum((8 * np.linalg.norm(points, axis=1) ** 3).astype(int), 7)
        octant = (points > 0) @ [1, 2, 4]
        total += stats.chisquare(np.bincount(8 * shell + octant, minlength=cells)).statistic
    freedom = replicates * (cells - 1)
    assert abs(total - freedom) < 5 * math.sqrt(2 * freedom)


@pytest.mark.slow
def test_the_interval_of_the_volume_covers_at_its_rate():
    cloud = clouds.Shapes(*(np.repeat(part, 3, 0) for part in clouds.lens())).cloud()
    hits = shared = 0
    for seed in range(200):
        found = sample_union(jax.random.key(seed), cloud, count=1).stats
        hits += abs(found.volume - clouds.LENS_VOLUME) < 1.959964 * found.volume_stderr
        volume = union_volume(jax.random.key(1000 + seed), cloud, rel_err=0.01)
        shared += volume.low95 <= clouds.LENS_VOLUME <= volume.high95
    assert sigmas(hits, 200, 0.95) < 5 and sigmas(shared, 200, 0.95) < 5
