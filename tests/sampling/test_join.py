"""Counts of covering bodies against brute force, whatever the shapes, sizes, places, chunks and devices."""

import functools
import math

import jax
import numpy as np
import pytest

from jaxkit.sampling import pairs, shelf
from jaxkit.sampling.anchor import Position
from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.join import covers
from jaxkit.sampling.levels import levels
from tests.reference import cover
from tests.sampling.clouds import UTM, Shapes

POINTS = 3000


def _turns(rng, count):
    quaternion = rng.normal(0, 1, (count, 4))
    return quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)


def _blobs(rng, count=400, shift=(0.0, 0.0, 0.0)):
    size = np.exp(rng.normal(0, 0.3, (count, 3)))
    return Shapes(rng.uniform(-6, 6, (count, 3)) + shift, size, _turns(rng, count))


def _needles(rng, aspect):
    """Each needle twice, the second a little larger: thin ones would hardly ever meet another."""
    size = np.tile([3.0, 3.0 / aspect, 3.0 / aspect], (150, 1))
    center, turns = np.tile(rng.uniform(-1, 1, (150, 3)), (2, 1)), np.tile(_turns(rng, 150), (2, 1))
    return Shapes(center, np.concatenate([size, size * 1.2]), turns)


def _flakes(rng, aspect):
    size = np.tile([3.0, 2.0, 3.0 / aspect], (300, 1)) * np.exp(rng.normal(0, 0.2, (300, 3)))
    return Shapes(rng.uniform(-2, 2, (300, 3)), size, _turns(rng, 300))


def _decades(rng):
    size = 10 ** rng.uniform(-3, 1, (500, 1)) * np.exp(rng.normal(0, 0.4, (500, 3)))
    return Shapes(rng.normal(0, 3, (500, 3)), size, _turns(rng, 500))


def _giant(rng):
    small = _blobs(rng, 400)
    center, axes = np.concatenate([small.center, [[0, 0, 0]]]), np.concatenate([small.semi_axes * 0.05, [[7, 7, 7]]])
    return Shapes(center, axes, np.concatenate([small.quaternion, [[1, 0, 0, 0]]]))


def _far_apart(rng):
    shapes = _blobs(rng)
    return shapes._replace(center=shapes.center + rng.integers(0, 2, (400, 1)) * [1e6, -1e6, 1e6])


CLOUDS = {
    "blobs": _blobs,
    "blobs far below zero": functools.partial(_blobs, shift=(-1e5, -2e5, -3e5)),
    "blobs at map coordinates": functools.partial(_blobs, shift=UTM),
    "blobs in one place": lambda rng: _blobs(rng)._replace(center=rng.uniform(0, 0.01, (400, 3))),
    "needles 100:1": functools.partial(_needles, aspect=100),
    "needles 10000:1": functools.partial(_needles, aspect=1e4),
    "flakes 30:1": functools.partial(_flakes, aspect=30),
    "flakes 10000:1": functools.partial(_flakes, aspect=1e4),
    "four decades": _decades,
    "a giant and dwarfs": _giant,
    "two clusters": _far_apart,
}


def _drawn(shapes, cloud, rng, points=POINTS):
    """Places in bodies drawn at random, their float64 coordinates as stored, and their sources."""
    source = rng.integers(0, len(shapes.center), points).astype(np.int32)
    unit = rng.normal(0, 1, (points, 3))
    unit *= rng.random((points, 1)) ** (1 / 3) / np.linalg.norm(unit, axis=1, keepdims=True)
    solids = shapes.solids()
    inner = np.einsum("nij,nj->ni", solids.matrix[source], unit * solids.semi_axes[source])
    position = cloud.anchor.place(solids.center[source] + inner)
    return position, cloud.anchor.to_float64(position), source


@pytest.mark.parametrize("name", CLOUDS)
def test_counts_agree_with_brute_force(name, rng):
    shapes = CLOUDS[name](rng)
    cloud = shapes.cloud()
    level = levels(cloud.bodies.semi_axes, cloud.anchor.step)
    position, places, source = _drawn(shapes, cloud, rng)
    truth = cover.counts(shapes.solids(), level, places, source, tolerance=5e-3 if "10000" in name else 2e-4)
    assert truth.close.mean() < 0.2 and truth.prior.any()
    for counted in ("any", "other", "prior"):
        found = covers(cloud, position, source=source, level=level[source], counted=counted)
        assert found.dtype == np.int32
        wrong = found != getattr(truth, counted)
        assert not (wrong & ~truth.close).any()
        assert wrong.mean() < 0.02


def _case(rng, points=POINTS):
    """A cloud of all kinds in one, of more bodies than a block holds."""
    kinds = [_blobs(rng, 70_000), _needles(rng, 300), _flakes(rng, 50), _decades(rng), _giant(rng)]
    shapes = Shapes(*(np.concatenate(parts) for parts in zip(*kinds, strict=True)))
    shapes.semi_axes[:70_000] *= 0.1
    cloud = shapes.cloud()
    position, _, source = _drawn(shapes, cloud, rng, points)
    return cloud, position, source, levels(cloud.bodies.semi_axes, cloud.anchor.step)


def test_chunks_do_not_show(rng):
    cloud, position, source, level = _case(rng)
    whole = covers(cloud, position, source=source, level=level[source], counted="prior")
    assert whole.any()
    for chunk in (30_001, 69_000):
        cut = covers(cloud, position, source=source, level=level[source], counted="prior", chunk=chunk)
        np.testing.assert_array_equal(cut, whole)


@pytest.mark.parametrize("shape", [(1,), (2,), (2, 4)])
def test_devices_do_not_show(shape, rng):
    cloud, position, source, level = _case(rng)
    axes = ("x", "y")[: len(shape)]
    types = (jax.sharding.AxisType.Auto,) * len(shape)
    mesh = jax.make_mesh(shape, axes, axis_types=types, devices=jax.devices()[: math.prod(shape)])
    arguments = {"source": source, "level": level[source], "counted": "prior", "chunk": 40_000}
    alone = covers(cloud, position, **arguments)
    np.testing.assert_array_equal(covers(cloud, position, mesh=mesh, **arguments), alone)


def test_the_order_of_rows_moves_no_count(rng):
    shapes = _decades(rng)
    position, _, _ = _drawn(shapes, shapes.cloud(), rng)
    order = rng.permutation(len(shapes.center))
    moved = Shapes(*(part[order] for part in shapes)).cloud()
    np.testing.assert_array_equal(covers(moved, position), covers(shapes.cloud(), position))
    some = rng.permutation(POINTS)
    taken = Position(*(leaf[some] for leaf in position))
    np.testing.assert_array_equal(covers(moved, taken), covers(moved, position)[some])


def test_each_body_counts_as_often_as_it_is_there(rng):
    shapes = _blobs(rng)
    position, _, _ = _drawn(shapes, shapes.cloud(), rng)
    twice = Shapes(*(np.concatenate([part, part]) for part in shapes)).cloud()
    np.testing.assert_array_equal(covers(twice, position), 2 * covers(shapes.cloud(), position))


def test_levels_add_up(rng):
    shapes = _decades(rng)
    cloud = shapes.cloud()
    position, _, _ = _drawn(shapes, cloud, rng)
    middle = int(np.median(levels(cloud.bodies.semi_axes, cloud.anchor.step)))
    low, high = (covers(cloud, position, levels=limits) for limits in ((0, middle), (middle + 1, 30)))
    assert low.any() and high.any()
    np.testing.assert_array_equal(low + high, covers(cloud, position))


@pytest.mark.parametrize("most", [pairs.MOST, 200_001])
def test_bodies_may_have_many_candidates(most, rng, monkeypatch):
    """What does not fit in one pass over the bodies takes several."""
    monkeypatch.setattr(pairs, "MOST", most)
    shelf._program.cache_clear()
    cloud = Ellipsoids.from_spheres(np.zeros((5, 3)), np.array([1.0, 0.5, 1.01, 0.99, 0.98]))
    world = rng.uniform(-1, 1, (150_000, 3))
    radius = np.linalg.norm(world, axis=1)
    expected = sum((radius <= r).astype(int) for r in (1.0, 0.5, 1.01, 0.99, 0.98))
    found = covers(cloud, cloud.anchor.place(world))
    shelf._program.cache_clear()
    assert (found != expected).sum() <= 5


def test_nothing_covers_and_nothing_is_covered():
    cloud = Ellipsoids.from_spheres(np.zeros((1, 3)), np.ones(1))
    empty = Ellipsoids(jax.tree.map(lambda leaf: leaf[:0], cloud.bodies), cloud.anchor)
    void = Ellipsoids(cloud.bodies._replace(semi_axes=np.zeros((1, 3), np.float32)), cloud.anchor)
    center = cloud.anchor.place(np.zeros((5, 3)))
    np.testing.assert_array_equal(covers(empty, center), np.zeros(5))
    np.testing.assert_array_equal(covers(void, center), np.zeros(5))
    np.testing.assert_array_equal(covers(cloud, center), np.ones(5))
    assert covers(cloud, cloud.anchor.place(np.zeros((0, 3)))).shape == (0,)


def test_wrong_arguments_are_named():
    cloud = Ellipsoids.from_spheres(np.zeros((1, 3)), np.ones(1))
    position = cloud.anchor.place(np.zeros((5, 3)))
    with pytest.raises(ValueError, match="counted must be one of .* not 'all'"):
        covers(cloud, position, counted="all")
    with pytest.raises(ValueError, match="source must hold one number for each of 5 points, it is missing"):
        covers(cloud, position, counted="other")
    with pytest.raises(ValueError, match=r"level must hold .* it is of shape \(3,\)"):
        covers(cloud, position, source=np.zeros(5), level=np.zeros(3), counted="prior")
