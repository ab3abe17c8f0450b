"""Dropped points: the law in each body, and the same bits however they are asked for."""

import jax
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.spatial.transform import Rotation

from jaxkit.sampling.drop import BLOCK, drop
from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.levels import levels
from tests.sampling.clouds import Reordered, balls, random_cloud

KEY = jax.random.key(31)


def _rows(dropped):
    """Points as rows of bits in the order of tag and source: what must not depend on chunks."""
    order = np.lexsort((dropped.source, dropped.tag))
    leaves = [np.asarray(leaf)[order].reshape(len(order), -1) for leaf in jax.tree.leaves(dropped)]
    return [leaf.view(np.uint32 if leaf.itemsize == 4 else np.uint64) for leaf in leaves]


def _same(a, b):
    for one, other in zip(_rows(a), _rows(b), strict=True):
        np.testing.assert_array_equal(one, other)


def _in_body(shapes, cloud, dropped):
    """Places in the unit ball that the points are images of, float64, from the shapes that the user gave."""
    turned = Rotation.from_quat(shapes.quaternion[dropped.source], scalar_first=True)
    away = cloud.anchor.to_float64(dropped.position) - shapes.center[dropped.source]
    return turned.inv().apply(away) / shapes.semi_axes[dropped.source]


def test_points_are_uniform_in_their_bodies(rng):
    shapes = random_cloud(rng, 500, kind="flakes")
    cloud = shapes.cloud()
    dropped = drop(KEY, cloud, 2e5 / shapes.volumes().sum())
    unit = _in_body(shapes, cloud, dropped)
    radius = np.linalg.norm(unit, axis=1)
    assert radius.max() < 1 + 1e-4
    assert stats.kstest(radius**3, "uniform").pvalue > 1e-6
    for axis in range(3):
        assert stats.kstest(unit[:, axis], lambda t: (2 + 3 * t - t**3) / 4).pvalue > 1e-6
    counts = np.bincount(dropped.source, minlength=500)
    due = shapes.volumes() / shapes.volumes().sum() * counts.sum()
    assert stats.chisquare(counts, due).pvalue > 1e-6


def test_the_number_of_points_is_that_of_the_density(rng):
    shapes = random_cloud(rng, 20_000, kind="decades")
    density = 1e5 / shapes.volumes().sum()
    dropped = drop(KEY, shapes.cloud(), density)
    assert abs(len(dropped.source) - 1e5) < 5 * np.sqrt(1e5)
    # Bodies that expect a hundredth of a point each, and some dozens in all: their share is not rounded away.
    small = shapes.volumes() * density < 1e-2
    due = (shapes.volumes() * density)[small].sum()
    assert due > 10 and abs(small[dropped.source].sum() - due) < 5 * np.sqrt(due)


def test_records_are_those_of_the_interface(rng):
    shapes = random_cloud(rng, 300, kind="decades")
    cloud = shapes.cloud()
    dropped = drop(KEY, cloud, 1e4 / shapes.volumes().sum())
    assert dropped.position.cell.dtype == dropped.source.dtype == dropped.level.dtype == np.int32
    assert dropped.position.offset.dtype == np.float32 and dropped.tag.dtype == np.uint64 and dropped.normal is None
    step = cloud.anchor.step
    np.testing.assert_array_equal(dropped.level, levels(cloud.bodies.semi_axes, step)[dropped.source])
    assert (dropped.position.offset >= 0).all() and (dropped.position.offset <= step).all()


@pytest.fixture(scope="module")
def large():
    return random_cloud(np.random.default_rng(3), 2 * BLOCK + 777).cloud()


@pytest.fixture(scope="module")
def whole(large):
    return drop(KEY, large, 0.05)


@pytest.mark.parametrize("chunk", [4096, BLOCK, 10**6])
def test_chunks_do_not_matter(chunk, large, whole):
    _same(drop(KEY, large, 0.05, chunk=chunk), whole)


def test_the_order_of_chunks_does_not_matter(large, whole):
    _same(drop(KEY, Reordered(large), 0.05, chunk=BLOCK), whole)


@pytest.mark.parametrize("where", ["volume", "surface"])
def test_a_denser_drop_adds_points_and_moves_none(where, large):
    sparse, rest = drop(KEY, large, 0.01, where=where), drop(KEY, large, 0.03, above=0.01, where=where)
    joined = jax.tree.map(lambda *leaves: np.concatenate(leaves), sparse, rest)
    _same(joined, drop(KEY, large, 0.03, where=where))
    assert sparse.tag.max() < rest.tag.min()


def test_keys_and_epochs_are_independent(large, whole):
    for other in (drop(jax.random.key(32), large, 0.05), drop(KEY, large, 0.05, epoch=1)):
        assert not np.isin(other.tag, whole.tag).any()
        shared = np.intersect1d(other.source, whole.source).size
        due = len(np.unique(other.source)) * len(np.unique(whole.source)) / len(large)
        assert abs(shared - due) < 10 * np.sqrt(due) + 0.1 * due


def test_two_large_bodies_get_as_many_points_as_many_small():
    cloud = balls([[0, 0, 0], [9, 0, 0]], [1.0, 2.0]).cloud()
    dropped = drop(KEY, cloud, 3e4)
    counts = np.bincount(dropped.source)
    due = 3e4 * 4 / 3 * np.pi * np.float64([1, 8])
    assert (np.abs(counts - due) < 5 * np.sqrt(due)).all()
    points = cloud.anchor.to_float64(dropped.position)
    assert len(np.unique(points, axis=0)) == len(points)


def test_tags_say_nothing_about_places():
    cloud = balls([[0, 0, 0]], [1.0]).cloud()
    dropped = drop(KEY, cloud, 5e4)
    points = cloud.anchor.to_float64(dropped.position)[np.argsort(dropped.tag)]
    rank = np.arange(len(points))
    for value in (*points.T, np.linalg.norm(points, axis=1)):
        assert abs(np.corrcoef(rank, value)[0, 1]) < 5 / np.sqrt(len(rank))
        assert abs(np.corrcoef(value[1:], value[:-1])[0, 1]) < 5 / np.sqrt(len(rank))


def test_stratified_counts_are_the_means_rounded(rng):
    shapes = random_cloud(rng, 2000)
    mean = shapes.volumes() * 3.0
    counts = np.bincount(drop(KEY, shapes.cloud(), 3.0, stratified=True).source, minlength=2000)
    assert (np.abs(counts - mean) < 1 + 1e-4).all()
    part = mean % 1
    assert abs(counts.sum() - mean.sum()) < 5 * np.sqrt((part * (1 - part)).sum())


def test_points_on_a_surface_are_uniform_in_area():
    """A spheroid of radii (a, a, c): the area between heights has the density a sqrt(1 - z^2/c^2 + a^2 z^2/c^4)."""
    for a, c in ((2.0, 0.3), (0.4, 3.0), (1.0, 1.0)):
        cloud = Ellipsoids.from_axes(np.zeros((1, 3)), np.array([[a, a, c]]), np.array([[1.0, 0, 0, 0]]))
        heights = np.linspace(-c, c, 20_001)
        belt = 2 * np.pi * a * np.sqrt(np.maximum(1 - heights**2 / c**2 + a**2 * heights**2 / c**4, 0))
        area = integrate.cumulative_trapezoid(belt, heights, initial=0)
        dropped = drop(KEY, cloud, 4e4 / area[-1], where="surface")
        points = cloud.anchor.to_float64(dropped.position)
        assert abs(len(points) - 4e4) < 5 * np.sqrt(4e4)
        z = points[:, 2].clip(-c, c)
        assert stats.kstest(z, lambda t: np.interp(t, heights, area / area[-1])).pvalue > 1e-6  # noqa: B023
        slope = points / np.float64([a, a, c]) ** 2
        np.testing.assert_allclose(slope / np.linalg.norm(slope, axis=1)[:, None], dropped.normal, atol=2e-5)


def test_normals_turn_with_the_body(rng):
    shapes = random_cloud(rng, 200)
    cloud = shapes.cloud()
    dropped = drop(KEY, cloud, 3.0, where="surface")
    unit = _in_body(shapes, cloud, dropped)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-5)
    turned = Rotation.from_quat(shapes.quaternion[dropped.source], scalar_first=True)
    slope = turned.apply(unit / shapes.semi_axes[dropped.source])
    np.testing.assert_allclose(slope / np.linalg.norm(slope, axis=1)[:, None], dropped.normal, atol=1e-4)


def test_void_rows_and_empty_clouds_drop_nothing():
    shapes = balls(np.zeros((3, 3)), [1.0, 2.0, 1.0])
    cloud = shapes.cloud()
    void = cloud.bodies._replace(semi_axes=np.asarray(cloud.bodies.semi_axes) * np.float32([[1], [0], [1]]))
    assert set(drop(KEY, Ellipsoids(void, cloud.anchor), 20.0).source) == {0, 2}
    empty = Ellipsoids(jax.tree.map(lambda leaf: leaf[:0], cloud.bodies), cloud.anchor)
    for where in ("volume", "surface"):
        dropped = drop(KEY, empty, 5.0, where=where)
        assert len(dropped.source) == len(dropped.position.cell) == 0


@pytest.mark.parametrize("settings, shown", [({"density": -1.0}, "-1.0"), ({"density": np.nan}, "nan")])
def test_wrong_densities_are_refused(settings, shown):
    with pytest.raises(ValueError, match=shown):
        drop(KEY, balls([[0, 0, 0]], [1.0]).cloud(), **settings)


def test_unknown_places_are_refused():
    with pytest.raises(ValueError, match="inside"):
        drop(KEY, balls([[0, 0, 0]], [1.0]).cloud(), 1.0, where="inside")
