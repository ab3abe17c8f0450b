"""Rows that repeat an earlier row."""

import numpy as np

from jaxkit.sampling.copies import without_copies
from tests.sampling import clouds


def _axes(cloud, rows):
    return np.concatenate([np.asarray(bodies.semi_axes) for _, bodies in cloud.chunks(rows)])


def test_a_cloud_without_copies_is_returned_itself(rng):
    cloud = clouds.random_cloud(rng, 1000).cloud()
    assert without_copies(cloud) is cloud


def test_later_copies_lose_their_extent_whatever_the_chunks(rng):
    shapes = clouds.random_cloud(rng, 150_000)
    row = rng.permutation(150_000)
    row[[10, 70_000, 149_999]] = row[5]
    row[140_000] = row[100_000]
    cloud = clouds.Shapes(*(part[row] for part in shapes)).cloud()
    distinct = without_copies(cloud, chunk=2**16)
    expected = np.asarray(cloud.bodies.semi_axes).copy()
    expected[[10, 70_000, 149_999, 140_000]] = 0
    assert len(distinct) == len(cloud) and distinct.anchor == cloud.anchor
    for rows in (1000, 2**16, 10**6):
        np.testing.assert_array_equal(_axes(distinct, rows), expected)


def test_a_ball_is_the_same_however_it_is_turned():
    plain = clouds.balls(np.zeros((2, 3)), 1.0)
    turned = plain._replace(quaternion=np.array([[1.0, 0, 0, 0], [0.6, 0, 0.8, 0]]))
    np.testing.assert_array_equal(_axes(without_copies(turned.cloud()), 10), [[1, 1, 1], [0, 0, 0]])
    longer = turned._replace(semi_axes=np.array([[1.0, 1, 2], [1, 1, 2]])).cloud()
    assert without_copies(longer) is longer
