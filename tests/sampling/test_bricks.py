"""Sparse bricks against dense arrays of bools."""

import numpy as np
import pytest

from jaxkit.sampling.bits import pack
from jaxkit.sampling.bricks import Bricks, brick_keys, bricks_of_keys

SHAPE = (5, 4, 6)
LOW = np.array([-2, 1, -3])


def _bricks(rng, share=0.3):
    """A set of bricks around the origin, some of them missing, and the same voxels as a dense array."""
    dense = rng.random((*SHAPE, 8, 8, 8)) < share
    dense[rng.random(SHAPE) < 0.5] = False
    brick = np.argwhere(dense.any((3, 4, 5)))
    voxels = dense.transpose(0, 3, 1, 4, 2, 5).reshape(np.array(SHAPE) * 8)
    bits = pack(dense[tuple(brick.T)])
    return Bricks(bits, (brick + LOW).astype(np.int32), 0.5, (1.0, 2.0, 3.0)), voxels


def test_count_volume_and_bytes(rng):
    bricks, dense = _bricks(rng)
    assert bricks.count() == dense.sum()
    assert bricks.volume() == dense.sum() / 8
    assert bricks.nbytes == len(bricks) * (64 + 12)


def test_get_answers_for_every_voxel_near_and_far(rng):
    bricks, dense = _bricks(rng)
    around = np.pad(dense, 9)
    ijk = np.argwhere(np.ones(around.shape, bool)) - 9 + LOW * 8
    np.testing.assert_array_equal(bricks.get(ijk), around.reshape(-1))
    assert not bricks.get(np.array([[2**40, 0, 0], [0, -(2**33), 5]])).any()


def test_select_lists_brick_after_brick_and_rank_undoes_it(rng):
    bricks, dense = _bricks(rng)
    k = np.arange(bricks.count())
    ijk = bricks.select(k)
    assert ijk.dtype == np.int32
    brick_major = np.lexsort([*(ijk % 8).T[::-1], *(ijk // 8).T[::-1]])
    np.testing.assert_array_equal(brick_major, k)
    again = np.zeros_like(dense)
    again[tuple((ijk - LOW * 8).T)] = True
    np.testing.assert_array_equal(again, dense)
    np.testing.assert_array_equal(bricks.rank(ijk), k)


def test_numbers_beyond_32_bits_are_found():
    many = 2**23 + 5
    number = np.arange(many, dtype=np.int32)
    brick = np.stack([number >> 19, number & (2**19 - 1), 0 * number], 1)
    # Rows of one and the same full brick: 4.3e9 voxels without 0.5 GB of memory.
    bricks = Bricks(np.broadcast_to(np.full((1, 16), 2**32 - 1, np.uint32), (many, 16)), brick, 1.0)
    bricks.__dict__["cumulative"] = np.arange(many + 1) * 512
    places = np.array([many * 512 - 1, 0, 2**32])
    ijk = [[16 * 8 + 7, 4 * 8 + 7, 7], [0, 0, 0], [16 * 8, 0, 0]]
    assert places[0] > 2**32 and bricks.count() == many * 512
    assert bricks.select(places).tolist() == ijk
    assert bricks.rank(np.array(ijk)).tolist() == places.tolist()


@pytest.mark.parametrize(
    ("low", "high"), [((-16, 8, -24), (24, 40, 24)), ((-5, 9, -30), (3, 31, -1)), ((1, 1, 1), (1, 5, 5))]
)
def test_to_dense_cuts_any_box(low, high, rng):
    bricks, dense = _bricks(rng)
    wide = np.pad(dense, 64)
    start = np.array(low) - LOW * 8 + 64
    expected = wide[tuple(slice(a, b) for a, b in zip(start, start + np.array(high) - low, strict=True))]
    np.testing.assert_array_equal(bricks.to_dense(low, high), expected)


def test_keys_keep_the_order_of_bricks(rng):
    brick = rng.integers(-(2**20), 2**20, (1000, 3)).astype(np.int32)
    order = np.lexsort(brick.T[::-1])
    np.testing.assert_array_equal(np.argsort(brick_keys(brick), kind="stable"), order)
    np.testing.assert_array_equal(bricks_of_keys(brick_keys(brick)), brick)


def test_wrong_questions_are_refused(rng):
    bricks, _ = _bricks(rng)
    with pytest.raises(IndexError, match=f"{bricks.count()}"):
        bricks.select(np.array([bricks.count()]))
    with pytest.raises(IndexError, match="-1"):
        bricks.select(np.array([-1]))
    with pytest.raises(TypeError, match="float64"):
        bricks.get(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="high"):
        bricks.to_dense((0, 0, 0), (1, -1, 1))
    with pytest.raises(KeyError, match="1000"):
        bricks.rank(np.array([[1000, 0, 0]]))


def test_the_empty_set():
    empty = Bricks(np.zeros((0, 16), np.uint32), np.zeros((0, 3), np.int32), 1.0)
    assert empty.count() == 0 and empty.nbytes == 0 and not empty.get(np.array([[0, 0, 0]])).any()
    assert empty.select(np.zeros(0, np.int64)).shape == (0, 3)
    assert not empty.to_dense((0, 0, 0), (9, 9, 9)).any()
