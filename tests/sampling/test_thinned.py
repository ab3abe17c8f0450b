"""A guess of how heavily bodies overlap, from every seventeenth."""

import jax
import numpy as np
import pytest

from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.thinned import EVERY, Thinned, expected_share

KEY = jax.random.key(5)


def _balls(count, cover, rng):
    """Unit balls placed independently in a torus-like cube: `cover` of them hold a place of the cube on average."""
    edge = np.cbrt(count * 4 / 3 * np.pi / cover)
    return Ellipsoids.from_spheres(rng.uniform(0, edge, (count, 3)), np.ones(count))


@pytest.mark.parametrize("cover", [0.05, 1.0, 8.0])
def test_the_share_is_that_of_the_boolean_model(cover, rng):
    # Edges of the cube stick out, where bodies overlap less.
    expected = -np.expm1(-cover) / cover
    assert expected_share(KEY, _balls(30_000, cover, rng)) == pytest.approx(expected, rel=0.2)


def test_bodies_that_share_no_place_keep_everything():
    grid = np.stack(np.meshgrid(*[np.arange(12.0)] * 3), -1).reshape(-1, 3)
    assert expected_share(KEY, Ellipsoids.from_spheres(grid, np.full(len(grid), 0.49))) == 1.0


def test_no_bodies_keep_everything():
    assert expected_share(KEY, Ellipsoids.from_spheres(np.zeros((0, 3)), np.zeros(0))) == 1.0


@pytest.mark.parametrize("rows", [1, 7, 17, 50, 1000])
def test_every_seventeenth_row_is_left_whatever_the_chunks(rows, rng):
    cloud = _balls(200, 1.0, rng)
    firsts, parts = zip(*Thinned(cloud).chunks(rows), strict=True)
    left = np.concatenate([part.center.cell for part in parts])
    np.testing.assert_array_equal(left, cloud.bodies.center.cell[::EVERY])
    lengths = [len(part.semi_axes) for part in parts]
    np.testing.assert_array_equal(firsts, np.cumsum([0, *lengths[:-1]]))
    assert len(Thinned(cloud)) == len(left)
