"""The two masks of a cloud, the choice of voxels, and what is left out of them."""

import numpy as np
import pytest

from jaxkit.sampling.brickset import BudgetError
from jaxkit.sampling.levels import LARGEST, levels
from jaxkit.sampling.occupancy import OfLevels, build_index, dominant_level
from jaxkit.sampling.tally import tally
from jaxkit.sampling.voxelize import voxelize_union
from tests.reference.union import box, covered_by
from tests.sampling.clouds import Shapes, balls, random_cloud


def test_one_pass_gives_the_masks_of_both_rules(rng):
    cloud = random_cloud(rng, 300, cover=3.0).cloud()
    index = build_index(cloud)
    size = index.touched.voxel_size
    low, high = index.touched.brick.min(0) * 8, index.touched.brick.max(0) * 8 + 8
    touched, inside = (voxelize_union(cloud, size, rule=rule).to_dense(low, high) for rule in ("touched", "inside"))
    np.testing.assert_array_equal(index.touched.to_dense(low, high), touched)
    found = index.inside.to_dense(low, high)
    assert not (found & ~inside).any() and found.sum() > 0.9 * inside.sum()
    # What is left out is left out of bricks that are touched everywhere.
    where = index.touched.find(np.argwhere(inside & ~found) // 8 + low // 8)
    assert (index.counts[where] == 512).all()
    assert not (index.inside.bits & ~index.touched.bits).any()
    assert index.touched.bits.any(1).all()


def test_threads_do_not_change_a_bit(rng):
    """Which bricks are done early depends on what came before: on the order of the cloud, not on luck."""
    cloud = random_cloud(rng, 60_000, cover=12.0).cloud()
    one, other = build_index(cloud), build_index(cloud)
    np.testing.assert_array_equal(one.touched.brick, other.touched.brick)
    np.testing.assert_array_equal(one.touched.bits, other.touched.bits)
    np.testing.assert_array_equal(one.inside.bits, other.inside.bits)
    counts = np.bitwise_count(one.inside.bits).sum(1)
    assert ((counts >= 480) & (counts < 512)).sum() > 100


@pytest.mark.parametrize("kind", ["blobs", "needles", "flakes", "decades"])
def test_bounds_hold_and_masks_are_sound(kind, rng):
    shapes = random_cloud(rng, 100, cover=1.5, kind=kind)
    index = build_index(shapes.cloud())
    low, high = box(shapes.solids())
    probes = rng.uniform(low, high, (100_000, 3))
    by_body = covered_by(shapes.solids(), probes)
    covered, large = by_body.any(1), levels(shapes.semi_axes, index.anchor.step) >= index.levels[0]
    voxel = np.floor((probes - index.touched.origin) / index.touched.voxel_size).astype(np.int64)
    assert not (~covered & index.inside.get(voxel)).any()
    assert not (by_body[:, large].any(1) & ~index.touched.get(voxel)).any()
    volume = covered.mean() * np.prod(high - low)
    error = volume * np.sqrt((1 - covered.mean()) / covered.sum())
    assert index.bounds()[0] < volume + 5 * error and volume - 5 * error < index.bounds()[1]


def test_voxels_follow_the_bodies_that_hold_the_volume():
    large = balls(10.0 * np.arange(8)[:, None] * np.ones(3), 4.0)
    dust = balls(np.arange(100)[:, None] * [1.0, 2.0, 3.0], 0.01)
    both = Shapes(*(np.concatenate(parts) for parts in zip(large, dust, strict=True)))
    index = build_index(both.cloud())
    assert 8 / 2**0.5 <= 8.0 / index.touched.voxel_size <= 8 * 2**0.5
    assert index.has_small() and index.small_volume() == pytest.approx(dust.volumes().sum(), rel=1e-6)
    alone = build_index(large.cloud())
    assert not alone.has_small() and alone.small_volume() == 0
    assert alone.levels[1] == LARGEST


def test_acceptance_is_useful_for_bodies_that_lie_alone(rng):
    shapes = random_cloud(rng, 200, cover=1.02)
    index = build_index(shapes.cloud())
    assert shapes.volumes().sum() / 1.02 > 0.55 * index.touched.volume()


def test_voxels_grow_until_they_fit_the_budget(rng):
    cloud = random_cloud(rng, 500, cover=1.1).cloud()
    free = build_index(cloud)
    budget = free.nbytes // 2
    tight = build_index(cloud, budget_bytes=budget)
    assert tight.power > free.power and tight.nbytes < budget
    with pytest.raises(BudgetError, match=str(budget)):
        build_index(cloud, power=free.power, budget_bytes=budget)


def test_levels_partition_a_cloud_without_renumbering(rng):
    cloud = random_cloud(rng, 400, kind="decades").cloud()
    total = tally(cloud)
    middle = dominant_level(total)
    below, above = OfLevels(cloud, (0, middle - 1)), OfLevels(cloud, (middle, LARGEST))
    assert len(below) == len(above) == len(cloud) and below.anchor == cloud.anchor
    parts = [np.concatenate([bodies.semi_axes for _, bodies in part.chunks(70)]) for part in (below, above)]
    np.testing.assert_array_equal(parts[0] + parts[1], cloud.bodies.semi_axes)
    assert tally(below).volume <= total.volume / 2 <= tally(below).volume + total.level_volume[middle]


def test_an_empty_cloud_has_an_empty_index():
    index = build_index(balls([[0, 0, 0]], [1.0]).cloud())
    empty = build_index(OfLevels(index.cloud, (LARGEST, LARGEST)))
    assert empty.touched.count() == 0 and empty.bounds() == (0, 0)
