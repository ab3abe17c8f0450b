"""Volumes of unions: known ones, the stated error, and certain bounds."""

import jax
import numpy as np
import pytest

from jaxkit.sampling import volume
from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.volume import Shares, union_volume
from tests.reference import union as reference
from tests.sampling.clouds import BALL, LENS_VOLUME, balls, identical_balls, lens, nested, random_cloud

KEY = jax.random.key(51)
KNOWN = {
    "lens": (lens(), LENS_VOLUME),
    "stretched": (lens(np.diag([1e3, 1.0, 1e-3])), LENS_VOLUME),
    "nested": (nested(), BALL),
    "copies": (identical_balls(50), 2 * BALL),
}


@pytest.mark.parametrize("shapes, expected", KNOWN.values(), ids=KNOWN)
def test_known_volumes_are_found(shapes, expected):
    found = union_volume(KEY, shapes.cloud(), rel_err=2e-3)
    assert abs(found.value - expected) < 5 * found.stderr
    assert found.stderr <= 2e-3 * found.value
    assert found.lower_bound <= found.low95 <= found.high95 <= found.upper_bound
    assert found.lower_bound == pytest.approx(shapes.volumes().max(), rel=1e-6)
    assert found.upper_bound == pytest.approx(shapes.volumes().sum(), rel=1e-6)


def test_bodies_apart_have_their_sum():
    found = union_volume(KEY, balls([[0, 0, 0], [5, 0, 0]], [1.0, 2.0]).cloud())
    assert found.value == pytest.approx(9 * BALL, rel=1e-6)
    assert 0 < found.stderr < 1e-4 * found.value


@pytest.mark.parametrize("kind, cover", [("blobs", 3.0), ("needles", 1.3), ("decades", 2.0)])
def test_random_clouds_agree_with_brute_force(kind, cover, rng):
    shapes = random_cloud(rng, 50, cover=cover, kind=kind)
    found = union_volume(KEY, shapes.cloud(), rel_err=2e-3)
    expected, error = reference.volume(shapes.solids(), 200_000, rng)
    assert abs(found.value - expected) < 5 * np.hypot(found.stderr, error)


def test_a_smaller_error_takes_more_points_and_is_reached():
    found = union_volume(KEY, lens().cloud(), rel_err=4e-4)
    assert found.stderr <= 4e-4 * found.value
    assert abs(found.value - LENS_VOLUME) < 5 * found.stderr
    # The share is 1 or, for 5/16 of the points, 1/2.
    due = 0.25 * 5 / 16 * 11 / 16 / (27 / 32) ** 2 / 4e-4**2
    assert due < found.proposals < 1.5 * due


@pytest.mark.slow
def test_intervals_hold_the_volume_at_their_rate(monkeypatch):
    monkeypatch.setattr(volume, "PILOT", 2000)
    runs = [union_volume(jax.random.key(seed), lens().cloud(), rel_err=0.1) for seed in range(200)]
    held = sum(run.low95 <= LENS_VOLUME <= run.high95 for run in runs)
    assert reference.sigmas(held, 200, 0.95) < 5
    scatter = np.std([run.value for run in runs])
    assert scatter == pytest.approx(np.mean([run.stderr for run in runs]), rel=5 / np.sqrt(2 * 200))


def test_shares_are_summed_as_a_loop_would(rng):
    covered = rng.integers(1, 9, 1000)
    shares = Shares()
    for part in np.split(covered, [10, 10, 400]):
        shares.add(part)
    inverse = 1 / covered
    assert shares.mean == pytest.approx(inverse.mean())
    assert shares.stderr == pytest.approx(inverse.std() / np.sqrt(1000), rel=2e-3)


def test_chunks_do_not_matter():
    cloud = random_cloud(np.random.default_rng(7), 70_000).cloud()
    assert union_volume(KEY, cloud, chunk=65_536) == union_volume(KEY, cloud)


def test_nothing_has_no_volume():
    cloud = balls([[0, 0, 0]], [1.0]).cloud()
    found = union_volume(KEY, Ellipsoids(jax.tree.map(lambda leaf: leaf[:0], cloud.bodies), cloud.anchor))
    assert found.value == found.stderr == found.high95 == found.proposals == 0


@pytest.mark.parametrize("rel_err", [0.0, -1.0, 1.0, np.nan])
def test_wrong_errors_are_refused(rel_err):
    with pytest.raises(ValueError, match=str(rel_err)):
        union_volume(KEY, lens().cloud(), rel_err=rel_err)
