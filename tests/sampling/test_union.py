"""Points in unions: known shares and volumes, exactly as many as asked for, and the same bits however they are made."""

import jax
import numpy as np
import pytest
from scipy import stats

from jaxkit.sampling import search, union
from jaxkit.sampling.brickset import BudgetError
from jaxkit.sampling.draw import LowAcceptanceError
from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.files import open_cloud
from jaxkit.sampling.occupancy import build_index
from jaxkit.sampling.union import sample_union
from tests.reference.union import alike, chi_square, covered_by, kolmogorov, sample, sigmas
from tests.sampling import clouds
from tests.sampling.clouds import (
    LENS_SHARES,
    LENS_VOLUME,
    Reordered,
    balls,
    identical_balls,
    lens,
    lens_regions,
    nested,
)

KEY = jax.random.key(41)
STRETCH = np.array([[2.0, 0.3, 0], [0, 0.5, 0.1], [0.2, 0, 1.0]])


@pytest.mark.parametrize(
    "matrix, stratified, method",
    [(np.eye(3), False, "join"), (STRETCH, True, "join"), (STRETCH, False, "bricks"), (np.eye(3), True, "bricks")],
)
def test_two_bodies_share_their_lens(matrix, stratified, method):
    count = 100_000
    draw = sample_union(KEY, lens(matrix).cloud(), count=count, stratified=stratified, method=method)
    regions = lens_regions(draw.to_float64(), matrix)
    assert sum(regions.values()) > 0.9999 * count
    for name, share in LENS_SHARES.items():
        assert sigmas(regions[name], count, share) < 5
    assert draw.stats.method == method
    assert method == "bricks" or sigmas(draw.stats.accepted, draw.stats.proposals, 27 / 32) < 5
    volume = LENS_VOLUME * np.linalg.det(matrix)
    assert abs(draw.stats.volume - volume) < 5 * draw.stats.volume_stderr
    assert draw.stats.volume_stderr < 0.004 * volume
    assert draw.stats.volume_low <= volume <= draw.stats.volume_high
    assert draw.stats.mean_cover == pytest.approx(32 / 27, rel=0.01)


def test_small_bodies_keep_their_place_at_large_coordinates():
    draw = sample_union(KEY, clouds.utm_lens().cloud(), count=50_000)
    regions = lens_regions(draw.to_float64(), 0.05 * np.eye(3), tuple(np.float64(clouds.utm_lens().center[0])))
    for name, share in LENS_SHARES.items():
        assert sigmas(regions[name], 50_000, share) < 5
    world = draw.points().astype(np.float64) + draw.anchor.origin
    np.testing.assert_allclose(world, draw.to_float64(), atol=1e-6)


def test_the_inner_of_two_nested_balls_holds_an_eighth():
    draw = sample_union(KEY, nested().cloud(), count=100_000)
    inner = ((draw.to_float64() - [0.3, 0.2, -0.1]) ** 2).sum(1) <= 0.25
    assert sigmas(inner.sum(), 100_000, 1 / 8) < 5
    # The larger owns what both cover.
    assert not draw.source.any()


def test_copies_of_a_ball_count_once():
    draw = sample_union(KEY, identical_balls(200).cloud(), count=2000, method="join")
    assert sigmas((draw.source == 200).sum(), 2000, 0.5) < 5
    assert set(draw.source) == {0, 200}
    assert draw.stats.mean_cover == pytest.approx(201 / 2, rel=0.1)


@pytest.mark.parametrize(
    "kind, method", [("blobs", "join"), ("decades", "join"), ("flakes", "bricks"), ("decades", "bricks")]
)
def test_points_are_distributed_as_by_brute_force(kind, method, rng):
    shapes = clouds.random_cloud(rng, 40, cover=2.0, kind=kind)
    draw = sample_union(KEY, shapes.cloud(), count=40_000, method=method)
    points, expected = draw.to_float64(), sample(shapes.solids(), 40_000, rng)
    assert chi_square(points, expected) > 1e-6
    assert kolmogorov(points, expected) > 1e-6
    cover = covered_by(shapes.solids(), points).sum(1), covered_by(shapes.solids(), expected).sum(1)
    assert alike(*(np.bincount(values, minlength=41) for values in cover)) > 1e-6


@pytest.mark.parametrize("method", ["join", "bricks"])
def test_sources_cover_their_points_and_are_the_largest_that_do(method, rng):
    shapes = clouds.random_cloud(rng, 60, cover=3.0, kind="decades")
    draw = sample_union(KEY, shapes.cloud(), count=5000, method=method)
    covered = covered_by(shapes.solids(), draw.to_float64())
    assert covered[np.arange(5000), draw.source].mean() > 0.999
    largest = shapes.semi_axes.max(1)
    other = np.where(covered, largest, 0).max(1)
    assert (other <= 2.01 * largest[draw.source]).mean() > 0.999


def test_auto_takes_bricks_where_many_bodies_cover_each_place():
    draw = sample_union(KEY, identical_balls(1000).cloud(), count=20_000)
    assert draw.stats.method == "bricks"
    assert sigmas((draw.points()[:, 1] + draw.anchor.origin[1] > 2.5).sum(), 20_000, 0.5) < 5
    assert draw.stats.mean_cover == pytest.approx(1001 / 2, rel=0.05)


def test_an_index_is_sampled_as_the_cloud_by_bricks():
    cloud = nested().cloud()
    draw = sample_union(KEY, build_index(cloud), count=1000)
    _same(draw, sample_union(KEY, cloud, count=1000, method="bricks"))


def test_bricks_too_large_for_the_budget_leave_the_work_to_the_join(monkeypatch):
    def refuse(*_, **__):
        raise BudgetError("too large")

    monkeypatch.setattr("jaxkit.sampling.methods.build_index", refuse)
    assert sample_union(KEY, identical_balls(10).cloud(), count=30_000).stats.method == "join"
    with pytest.raises(BudgetError):
        sample_union(KEY, nested().cloud(), count=10, method="bricks")


def _same(a, b):
    for one, other in zip((*a.position, a.source), (*b.position, b.source), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.fixture(scope="module")
def large():
    return clouds.random_cloud(np.random.default_rng(4), 150_000).cloud()


@pytest.fixture(scope="module")
def whole(large):
    return sample_union(KEY, large, count=60_000)


@pytest.mark.parametrize("chunk", [4096, 65536, 10**6])
def test_chunks_do_not_matter(chunk, large, whole):
    draw = sample_union(KEY, large, count=60_000, chunk=chunk)
    _same(draw, whole)
    assert draw.stats == whole.stats


def test_the_order_of_chunks_does_not_matter(large, whole):
    _same(sample_union(KEY, Reordered(large), count=60_000, chunk=65536), whole)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 2, 8])
def test_devices_do_not_matter(devices, large, whole):
    mesh = jax.make_mesh((devices,), ("bodies",), devices=jax.devices()[:devices])
    _same(sample_union(KEY, large, count=60_000, mesh=mesh), whole)


@pytest.mark.slow
def test_devices_do_not_matter_to_bricks(large):
    mesh = jax.make_mesh((2, 4), ("host", "chip"), devices=jax.devices()[:8])
    draws = [sample_union(KEY, large, count=20_000, method="bricks", mesh=one) for one in (None, mesh)]
    _same(*draws)


def test_a_small_budget_means_more_windows_and_the_same_points(large, whole, monkeypatch):
    monkeypatch.setattr(union, "PILOT", 2**12)
    monkeypatch.setattr(search, "PILOT", 2**12)
    draw = sample_union(KEY, large, count=60_000, budget_bytes=5_000_000)
    assert draw.stats.windows >= 3 > whole.stats.windows
    _same(draw, whole)


@pytest.mark.parametrize("count", [1, 100, 30_000])
def test_fewer_points_are_the_first_of_more(count, large, whole):
    draw = sample_union(KEY, large, count=count)
    assert len(draw) == len(draw.source) == count
    np.testing.assert_array_equal(draw.to_float64(), whole.to_float64()[:count])


def test_other_keys_give_other_points(large, whole):
    other = sample_union(jax.random.key(42), large, count=1000)
    assert not np.isin(other.to_float64()[:, 0], whole.to_float64()[:, 0]).any()


def test_the_order_of_points_is_random(whole):
    rank = stats.rankdata(np.arange(len(whole)))
    for column in (*whole.points().T, whole.source):
        assert abs(np.corrcoef(rank, column)[0, 1]) < 5 / np.sqrt(len(rank))
        assert abs(np.corrcoef(column[1:], column[:-1])[0, 1]) < 5 / np.sqrt(len(rank))


def test_no_points_from_any_cloud_and_none_from_an_empty_one():
    cloud = balls([[0, 0, 0]], [1.0]).cloud()
    empty = Ellipsoids(jax.tree.map(lambda leaf: leaf[:0], cloud.bodies), cloud.anchor)
    for some in (cloud, empty):
        draw = sample_union(KEY, some, count=0)
        assert draw.points().shape == (0, 3) and draw.points().dtype == np.float32 and len(draw) == 0
    with pytest.raises(ValueError, match="none of the 0 rows"):
        sample_union(KEY, empty, count=1)


def test_a_count_beyond_reach_fails_with_the_acceptance():
    with pytest.raises(LowAcceptanceError, match="0.00[45].* of the proposals are kept"):
        sample_union(KEY, identical_balls(400).cloud(), count=100_000, method="join", max_proposals=10**6)


def test_a_union_without_a_survivor_fails(monkeypatch):
    monkeypatch.setattr(search, "HOPELESS", 60_000)
    monkeypatch.setattr("jaxkit.sampling.methods.covers", lambda cloud, position, **_: np.ones(len(position.cell), int))
    with pytest.raises(LowAcceptanceError, match="found none"):
        sample_union(KEY, nested().cloud(), count=10)


@pytest.mark.parametrize(
    "settings, shown",
    [
        ({"count": -1}, "-1"),
        ({"count": 1.5}, "1.5"),
        ({"count": True}, "True"),
        ({"count": 1, "method": "magic"}, "magic"),
        ({"count": 1, "chunk": 0}, "got 0"),
        ({"count": 1, "max_proposals": -5}, "got -5"),
    ],
)
def test_wrong_settings_are_refused(settings, shown):
    with pytest.raises(ValueError, match=shown):
        sample_union(KEY, nested().cloud(), **settings)


def test_a_budget_that_the_points_exceed_is_refused():
    with pytest.raises(BudgetError, match="budget_bytes is 1000"):
        sample_union(KEY, nested().cloud(), count=10, budget_bytes=1000)


@pytest.mark.parametrize("count", [1000, 60_000])
def test_progress_is_told(count, large):
    heard = []
    sample_union(KEY, large, count=count, progress=lambda *news: heard.append(news))
    assert heard[0][0] == "tally" and heard[-1] == ("points", count, count)


def test_stratified_draws_scatter_less():
    """The share of the first of two balls apart: every body receives its due, within one point."""
    cloud = balls([[0, 0, 0], [5, 0, 0]], [1.0, 1.0]).cloud()
    first = [(sample_union(jax.random.key(s), cloud, count=1001, stratified=True).source == 0).sum() for s in range(10)]
    assert set(first) <= {500, 501}


def test_a_file_is_sampled_as_the_cloud_in_memory(tmp_path):
    shapes = clouds.random_cloud(np.random.default_rng(8), 70_000)
    np.savez(tmp_path / "cloud.npz", **shapes._asdict())
    cloud = open_cloud(tmp_path / "cloud.npz")
    _same(sample_union(KEY, cloud, count=5000), sample_union(KEY, cloud.to_memory(), count=5000))
