"""Voxels of unions against voxels that NumPy tests one by one, and against random probes."""

import numpy as np
import pytest

from jaxkit.sampling.brickset import BudgetError
from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.stamp import BLOCK
from jaxkit.sampling.voxelize import voxelize_union
from tests.reference.union import box, covered_by
from tests.sampling.clouds import UTM, Shapes, balls, random_cloud

KINDS = ("blobs", "flakes", "needles")


def _voxels_of(points, bricks):
    return np.floor((points - np.asarray(bricks.origin)) / bricks.voxel_size).astype(np.int64)


def _grid(shapes, bricks):
    """The box of voxels around a cloud: corners in voxels, and the world centres of all voxels in it."""
    low, high = box(shapes.solids())
    low, high = _voxels_of(low, bricks) - 1, _voxels_of(high, bricks) + 2
    steps = np.stack(np.meshgrid(*map(np.arange, low, high), indexing="ij"), -1)
    return low, high, (steps.reshape(-1, 3) + 0.5) * bricks.voxel_size + np.asarray(bricks.origin)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0.13, 0.4])
def test_center_rule_is_that_of_a_plain_loop(kind, size, rng):
    shapes = random_cloud(rng, 12, kind=kind)
    bricks = voxelize_union(shapes.cloud(), size)
    low, high, centers = _grid(shapes, bricks)
    expected = covered_by(shapes.solids(), centers).any(1)
    found = bricks.to_dense(low, high).reshape(-1)
    # A centre within rounding of a surface may fall on either side.
    assert (found != expected).sum() <= 1e-5 * expected.size
    assert bricks.count() == found.sum() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_touched_and_inside_are_never_wrong(kind, rng):
    shapes = random_cloud(rng, 30, kind=kind)
    probes = rng.uniform(*box(shapes.solids()), (200_000, 3))
    covered = covered_by(shapes.solids(), probes).any(1)
    for size in (0.06, 0.3, 2.0):
        touched, inside = (voxelize_union(shapes.cloud(), size, rule=rule) for rule in ("touched", "inside"))
        voxel = _voxels_of(probes, touched)
        assert not (covered & ~touched.get(voxel)).any()
        assert not (~covered & inside.get(voxel)).any()


@pytest.mark.parametrize("kind", KINDS)
def test_surfaces_are_never_missed(kind, rng):
    """Places on the surface and just within are where a superset fails first."""
    shapes = random_cloud(rng, 200, kind=kind)
    u = rng.normal(size=(200, 1000, 3))
    u *= (1 - 1e-6) / np.linalg.norm(u, axis=2, keepdims=True)
    solids = shapes.solids()
    places = solids.center[:, None] + np.einsum("nij,nmj->nmi", solids.matrix, u * solids.semi_axes[:, None])
    for size in (0.07, 0.5, 3.0):
        touched = voxelize_union(shapes.cloud(), size, rule="touched")
        assert touched.get(_voxels_of(places.reshape(-1, 3), touched)).all()


def test_rules_are_tight_enough_to_be_useful(rng):
    shapes = random_cloud(rng, 1, cover=1.01)
    volume = shapes.volumes().sum()
    sizes = {rule: voxelize_union(shapes.cloud(), 0.05, rule=rule).volume() for rule in ("inside", "center", "touched")}
    assert 0.85 * volume < sizes["inside"] < sizes["center"] < sizes["touched"] < 1.15 * volume
    assert abs(sizes["center"] - volume) < 0.01 * volume


@pytest.mark.parametrize("rule", ["center", "touched", "inside"])
def test_a_body_larger_than_many_bricks_and_tiny_ones_beside_it(rule):
    """Bricks wholly inside are set at once; they must equal what voxels one by one would give."""
    center = np.concatenate([[[0, 0, 0]], 40 + 3.0 * np.arange(20)[:, None] * [[0, 0, 1.0]]])
    shapes = balls(center, np.r_[37.3, np.full(20, 0.3)])
    bricks = voxelize_union(shapes.cloud(), 1.0, rule=rule)
    low, high, centers = _grid(shapes, bricks)
    reach = {"center": 0.0, "touched": 1, "inside": -1}[rule]
    corner = np.abs(centers[:, None] - shapes.center[:1]) + {0.0: 0, 1: -0.5, -1: 0.5}[reach]
    exact = (np.maximum(corner, 0) ** 2).sum(2)[:, 0] <= 37.3**2
    near = np.abs(centers).max(1) < 39
    found = bricks.to_dense(low, high).reshape(-1)
    wrong = (found != exact)[near]
    allowed = {"center": 0, "touched": (found & ~exact)[near].sum(), "inside": (exact & ~found)[near].sum()}[rule]
    assert wrong.sum() == allowed <= 0.02 * exact.sum()


def test_chunks_and_blocks_do_not_matter(rng):
    shapes = random_cloud(rng, BLOCK + 1000, cover=3.0)
    cloud = shapes.cloud()
    whole = voxelize_union(cloud, 0.8, rule="touched")
    order = rng.permutation(len(shapes.center))
    again = voxelize_union(Ellipsoids.from_axes(*(part[order] for part in shapes)), 0.8, rule="touched")
    np.testing.assert_array_equal(whole.brick, again.brick)
    np.testing.assert_array_equal(whole.bits, again.bits)


def test_map_coordinates_keep_their_precision(rng):
    near = random_cloud(rng, 30)
    far = Shapes(near.center + np.floor(UTM), near.semi_axes, near.quaternion)
    one, other = (voxelize_union(shapes.cloud(), 0.25) for shapes in (near, far))
    shift = (np.asarray(other.origin) - np.asarray(one.origin) - np.floor(UTM)) / 0.25
    low, high, _ = _grid(near, one)
    whole = np.round(shift).astype(int)
    np.testing.assert_allclose(shift, whole)
    difference = one.to_dense(low, high) != other.to_dense(low - whole, high - whole)
    assert difference.sum() <= 1e-5 * difference.size


def test_rows_of_zeros_and_empty_clouds_have_no_voxels():
    shapes = balls([[0, 0, 0], [1.0, 2.0, 3.0]], [0.0, 0.0])
    cloud = balls([[0, 0, 0], [1.0, 2.0, 3.0]], [1.0, 1.0]).cloud()
    for rule in ("center", "touched", "inside"):
        bodies = cloud.bodies._replace(semi_axes=shapes.semi_axes.astype(np.float32))
        assert voxelize_union(Ellipsoids(bodies, cloud.anchor), 0.5, rule=rule).count() == 0


def test_a_budget_that_would_be_exceeded_is_refused_with_the_size(rng):
    cloud = random_cloud(rng, 50).cloud()
    with pytest.raises(BudgetError, match=r"100000 bytes of budget_bytes, and up to \d+"):
        voxelize_union(cloud, 0.02, budget_bytes=100_000)
    with pytest.raises(BudgetError, match="larger voxels"):
        voxelize_union(balls([[0, 0, 0]], [1.0]).cloud(), 1e-5)
    assert voxelize_union(cloud, 1.0, budget_bytes=2**20).count() > 0


def test_wrong_recipes_are_refused(rng):
    cloud = random_cloud(rng, 5).cloud()
    with pytest.raises(ValueError, match="corner"):
        voxelize_union(cloud, 1.0, rule="corner")
    for size in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="voxel_size"):
            voxelize_union(cloud, size)
    far = balls([[0, 0, 0], [1e6, 0, 0]], [1.0, 1.0]).cloud()
    with pytest.raises(ValueError, match="join"):
        voxelize_union(far, 0.01)
