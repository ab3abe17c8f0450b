"""Sums over a cloud: exact, and whatever the chunks."""

import jax
import numpy as np
import pytest

from jaxkit.sampling.drop import BLOCK
from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.levels import levels
from jaxkit.sampling.tally import tally
from tests.sampling.clouds import balls, random_cloud


@pytest.fixture(scope="module")
def shapes():
    return random_cloud(np.random.default_rng(6), BLOCK + 5000, kind="decades")


def test_sums_are_those_of_the_bodies(shapes):
    cloud = shapes.cloud()
    found = tally(cloud)
    assert found.volume == pytest.approx(shapes.volumes().sum(), rel=1e-6)
    assert found.largest == pytest.approx(shapes.volumes().max(), rel=1e-6)
    assert found.bodies == len(cloud)
    level = levels(cloud.bodies.semi_axes, cloud.anchor.step)
    np.testing.assert_array_equal(found.level_bodies, np.bincount(level, minlength=31))
    np.testing.assert_allclose(found.level_volume, np.bincount(level, shapes.volumes(), minlength=31), rtol=1e-6)


@pytest.mark.parametrize("chunk", [4096, BLOCK, 10**6])
def test_chunks_do_not_matter(chunk, shapes):
    for one, other in zip(tally(shapes.cloud(), chunk=chunk), tally(shapes.cloud()), strict=True):
        np.testing.assert_array_equal(one, other)


def test_void_rows_count_for_nothing():
    cloud = balls(np.zeros((3, 3)), [1.0, 2.0, 1.0]).cloud()
    void = cloud.bodies._replace(semi_axes=np.asarray(cloud.bodies.semi_axes) * np.float32([[1], [0], [1]]))
    found = tally(Ellipsoids(void, cloud.anchor))
    assert found.bodies == 2 and found.volume == pytest.approx(8 / 3 * np.pi)
    nothing = tally(Ellipsoids(jax.tree.map(lambda leaf: leaf[:0], void), cloud.anchor))
    assert nothing.volume == nothing.bodies == nothing.largest == 0


def test_progress_reaches_the_last_row(shapes):
    heard = []
    tally(shapes.cloud(), listen=heard.append)
    assert heard == sorted(heard) and heard[-1] == BLOCK + 5000
