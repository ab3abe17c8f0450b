"""Points drawn by voxels against brute force, and their independence of chunks."""

import jax
import numpy as np
import pytest

from jaxkit.sampling.hybrid import survivors, volume, voxels_of
from jaxkit.sampling.occupancy import build_index
from tests.reference.union import FIVE_SIGMA, chi_square, covered_by, kolmogorov, sample, sigmas
from tests.reference.union import volume as brute_volume
from tests.sampling.clouds import (
    LENS_SHARES,
    LENS_VOLUME,
    UTM,
    Shapes,
    balls,
    lens,
    lens_regions,
    random_cloud,
)

CLOUDS = [("blobs", 1.3), ("blobs", 8.0), ("flakes", 1.3), ("needles", 8.0), ("decades", 3.0)]


def _of_about(points, index):
    """The density that drops so many points into all bodies, each as if it were alone."""
    return points / index.tally.volume


def _world(index, found):
    return index.anchor.to_float64(found.points.position)


@pytest.mark.parametrize(("kind", "cover"), CLOUDS)
def test_points_are_those_of_brute_force(kind, cover, rng):
    shapes = random_cloud(rng, 80, cover=cover, kind=kind)
    index = build_index(shapes.cloud())
    expected, error = brute_volume(shapes.solids(), 100_000, rng)
    density = 8000 / expected
    found = survivors(jax.random.key(3), index, density)
    points = _world(index, found)
    assert abs(len(points) / density - expected) < 5 * np.hypot(error, np.sqrt(len(points)) / density)
    value, spread = volume(index, found, density)
    assert abs(value - expected) < 5 * np.hypot(error, spread) and spread <= np.sqrt(len(points)) / density
    other = sample(shapes.solids(), 8000, rng)
    assert chi_square(points, other) > FIVE_SIGMA and kolmogorov(points, other) > FIVE_SIGMA


@pytest.mark.parametrize("power", [-4, -1, 2])
def test_every_size_of_voxels_gives_the_lens(power, rng):
    shapes = lens()
    index = build_index(shapes.cloud(), power=power)
    found = survivors(jax.random.key(8), index, 30_000 / LENS_VOLUME)
    points = _world(index, found)
    assert abs(len(points) - 30_000) < 5 * np.sqrt(30_000)
    for region, hits in lens_regions(points).items():
        assert sigmas(hits, len(points), LENS_SHARES[region]) < 5
    assert covered_by(shapes.solids(), points / (1 + 1e-6)).any(1).all()


def test_records_add_up(rng):
    index = build_index(random_cloud(rng, 200, cover=1.5, kind="decades").cloud())
    found = survivors(jax.random.key(1), index, _of_about(30_000, index))
    assert index.has_small() and found.small > 0
    assert len(found.points.tag) == found.sure + found.passed + found.small
    assert found.proposals >= found.sure + found.tested and found.tested >= found.passed
    assert ((found.points.source < 0) == (found.points.level < 0)).all()
    assert (found.points.source >= 0).sum() == found.small
    assert len(np.unique(found.points.tag)) == len(found.points.tag)


def test_chunks_do_not_matter(rng):
    index = build_index(random_cloud(rng, 500, cover=3.0, kind="decades").cloud())
    density = _of_about(30_000, index)
    one, *others = [survivors(jax.random.key(1), index, density, chunk=chunk) for chunk in (2**20, 77)]
    assert len(one.points.tag) > 1000
    for other in others:
        jax.tree.map(np.testing.assert_array_equal, one, other)


def test_a_denser_drop_holds_the_sparser_one(rng):
    index = build_index(random_cloud(rng, 200, cover=3.0, kind="decades").cloud())
    density = _of_about(20_000, index)
    draw = lambda above, to: survivors(jax.random.key(5), index, to, above=above).points  # noqa: E731
    whole, half, rest = draw(0.0, density), draw(0.0, density / 2), draw(density / 2, density)
    tags = np.concatenate([half.tag, rest.tag])
    np.testing.assert_array_equal(np.sort(tags), np.sort(whole.tag))
    np.testing.assert_array_equal(np.sort(whole.tag)[: len(half.tag)], np.sort(half.tag))


def test_epochs_and_keys_differ(rng):
    index = build_index(random_cloud(rng, 50).cloud())
    draws = [
        survivors(jax.random.key(k), index, _of_about(1000, index), epoch=e).points.tag
        for k, e in ((0, 0), (0, 1), (1, 0))
    ]
    assert all(len(np.intersect1d(a, b)) == 0 for a, b in ((draws[0], draws[1]), (draws[0], draws[2])))


def test_stratified_counts_are_as_even_as_they_can_be(rng):
    index = build_index(balls([[0, 0, 0]], [1.0]).cloud(), power=-6)
    density = 10.0 / index.touched.voxel_size**3 / 64
    found = survivors(jax.random.key(2), index, density, stratified=True)
    voxel = voxels_of(found.points.position, index.anchor, index.power)
    inner = index.counts == 512
    rows = index.touched.find(voxel // 8)
    counts = np.bincount(rows, minlength=len(index.counts))[inner & (index.inside.bits == 2**32 - 1).all(1)]
    assert len(counts) > 50 and set(counts) == {80}


def test_places_in_a_voxel_and_among_voxels_are_uniform():
    """Within one large ball nothing is rejected, so counts of voxels and of places in them are plain."""
    index = build_index(balls([[0, 0, 0]], [1.0]).cloud(), power=-4)
    found = survivors(jax.random.key(4), index, 200_000 / LENS_VOLUME)
    points = _world(index, found)
    radius = np.linalg.norm(points, axis=1)
    places = (points / index.touched.voxel_size % 1)[radius < 0.8]
    assert chi_square(places, np.random.default_rng(0).random((100_000, 3)), parts=8) > FIVE_SIGMA
    assert sigmas(int((radius < 0.5).sum()), len(radius), 0.125) < 5


def test_map_coordinates_keep_their_precision(rng):
    near = random_cloud(rng, 30, cover=2.0)
    far = Shapes(near.center * 0.01 + UTM, near.semi_axes * 0.01, near.quaternion)
    index = build_index(far.cloud())
    found = survivors(jax.random.key(0), index, _of_about(10_000, index))
    points = (_world(index, found) - UTM) / 0.01
    other = sample(near.solids(), len(points), rng)
    assert len(points) > 1000 and chi_square(points, other) > FIVE_SIGMA


def test_large_bodies_own_what_dust_shares(rng):
    """Half of the dust lies in the ball: only the other half adds points of its own."""
    dust = rng.uniform(-6, 6, (3000, 3))
    dust = dust[np.abs(np.linalg.norm(dust, axis=1) - 4) > 0.1]
    shapes = balls(np.concatenate([[[0, 0, 0]], dust]), np.r_[4.0, np.full(len(dust), 0.08)])
    index = build_index(shapes.cloud())
    density = 100.0
    found = survivors(jax.random.key(6), index, density)
    outside = (np.linalg.norm(_world(index, found)[found.points.source >= 0], axis=1) > 4).all()
    expected, error = brute_volume(balls(dust[np.linalg.norm(dust, axis=1) > 4], 0.08).solids(), 20_000, rng)
    assert outside and found.small > 100
    assert abs(found.small / density - expected) < 5 * np.hypot(error, np.sqrt(found.small) / density)
