"""Places that are covered, how often, and by whom."""

import jax
import numpy as np
import pytest

from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.levels import levels
from jaxkit.sampling.queries import contains, count_covering, owner
from tests.reference import cover
from tests.sampling.clouds import Shapes


def _shapes(rng):
    size = 10 ** rng.uniform(-1.5, 0.5, (400, 1)) * np.exp(rng.normal(0, 0.3, (400, 3)))
    size[::10] *= [4.0, 0.04, 0.04]
    quaternion = rng.normal(0, 1, (400, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    return Shapes(rng.normal(0, 2, (400, 3)) + [1e4, -1e4, 0], size, quaternion)


def test_answers_agree_with_brute_force(rng):
    shapes = _shapes(rng)
    cloud = shapes.cloud()
    world = rng.normal(0, 3, (3000, 3)) + [1e4, -1e4, 0]
    level = levels(cloud.bodies.semi_axes, cloud.anchor.step)
    truth = cover.counts(shapes.solids(), level, world, np.zeros(3000, int), tolerance=2e-3)
    sure = ~truth.close
    assert 0.1 < (truth.any[sure] > 0).mean() < 0.9
    np.testing.assert_array_equal(count_covering(cloud, world)[sure], truth.any[sure])
    np.testing.assert_array_equal(contains(cloud, world)[sure], truth.any[sure] > 0)
    np.testing.assert_array_equal(owner(cloud, world)[sure], truth.owner[sure])
    np.testing.assert_array_equal(owner(cloud, cloud.anchor.place(world)), owner(cloud, world, chunk=77))
    devices = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,), devices=jax.devices()[:2])
    np.testing.assert_array_equal(owner(cloud, world, mesh=devices), owner(cloud, world))


def test_a_surface_belongs_to_its_body():
    cloud = Ellipsoids.from_spheres(np.array([[0.0, 0, 0], [4, 0, 0]]), np.array([1.0, 2.0]))
    world = np.array([[-1, 0, 0], [2, 0, 0], [6, 0, 0], [1.5, 0, 0], [-1.01, 0, 0]])
    np.testing.assert_array_equal(contains(cloud, world), [True, True, True, False, False])
    np.testing.assert_array_equal(owner(cloud, world), [0, 1, 1, -1, -1])


def test_places_far_beyond_the_cloud_are_outside():
    cloud = Ellipsoids.from_spheres(np.zeros((1, 3)), np.ones(1))
    far = np.array([[2.0**31 - 8, 0, 0], [-(2.0**31) + 8, 0, 0], [0, 1e9, -1e9]]) * cloud.anchor.step
    np.testing.assert_array_equal(contains(cloud, far), False)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_places_must_be_finite(bad):
    cloud = Ellipsoids.from_spheres(np.zeros((1, 3)), np.ones(1))
    with pytest.raises(ValueError, match="finite and within"):
        contains(cloud, [[0, 0, 0], [0, bad, 0]])


def test_places_must_be_rows_of_three():
    cloud = Ellipsoids.from_spheres(np.zeros((1, 3)), np.ones(1))
    with pytest.raises(ValueError, match=r"shape \[M, 3\], not \[3\]"):
        contains(cloud, np.zeros(3))


def test_no_places():
    cloud = Ellipsoids.from_spheres(np.zeros((1, 3)), np.ones(1))
    assert contains(cloud, np.zeros((0, 3))).shape == owner(cloud, np.zeros((0, 3))).shape == (0,)
