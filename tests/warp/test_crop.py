"""Crops and padding, exact in every field."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Sample, batch, warp

IMAGE = np.random.default_rng(0).integers(0, 256, (10, 14, 3), dtype=np.uint8)
WINDOW = (4, 6)
MANY = 400


def _sample(count=MANY, valid=None):
    picture = np.broadcast_to(IMAGE, (count, *IMAGE.shape))
    labels = np.broadcast_to(np.float32([[5, 6], [0, 0]]), (count, 2, 2))
    valid = None if valid is None else np.broadcast_to(np.int32(valid), (count, 2))
    return Sample(picture, mask=picture[..., 0] // 3, points=labels, valid=valid)


@pytest.mark.parametrize("valid", [None, (7, 9)], ids=["whole", "padded"])
def test_random_windows_are_windows_from_every_place(valid):
    out = batch(warp.random_crop(size=WINDOW))(jax.random.key(0), np.arange(MANY), _sample(valid=valid))
    height, width = valid or IMAGE.shape[:2]
    counts = np.zeros((height - WINDOW[0] + 1, width - WINDOW[1] + 1), int)
    for index in range(MANY):
        left, top = (np.float32([5, 6]) - out.points[index, 0]).astype(int)
        window = np.s_[top : top + WINDOW[0], left : left + WINDOW[1]]
        np.testing.assert_array_equal(out.image[index], IMAGE[window], strict=True)
        np.testing.assert_array_equal(out.mask[index], IMAGE[window][..., 0] // 3, strict=True)
        counts[top, left] += 1
    expected = MANY / counts.size
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_the_centre_window_leaves_odd_room_below_and_right():
    out = warp.center_crop(size=(5, 7)).apply((jnp.full(2, 0.5),), Sample(jnp.asarray(IMAGE)))
    np.testing.assert_array_equal(out.image, IMAGE[2:7, 3:10])
    drawn = warp.center_crop(size=(5, 7)).draw(jax.random.key(0), Sample(jax.ShapeDtypeStruct(IMAGE.shape, "uint8")))
    again = warp.center_crop(size=(5, 7)).apply(drawn, Sample(jnp.asarray(IMAGE), valid=jnp.asarray([7, 8])))
    np.testing.assert_array_equal(again.image, IMAGE[1:6, 0:7])


def test_a_true_extent_below_the_window_is_kept_whole():
    out = batch(warp.random_crop(size=WINDOW))(jax.random.key(0), np.arange(3), _sample(3, valid=(3, 9)))
    assert out.image.shape == (3, *WINDOW, 3)
    np.testing.assert_array_equal(out.valid, [[3, 6]] * 3)
    for index in range(3):
        left, top = (np.float32([5, 6]) - out.points[index, 0]).astype(int)
        assert top == 0
        np.testing.assert_array_equal(out.image[index, :3], IMAGE[:3, left : left + 6])


@pytest.mark.parametrize("fill", [0, 255])
def test_padding_fills_below_and_right_and_says_so(fill):
    sample = Sample(jnp.asarray(IMAGE), points=jnp.asarray([[5.0, 6.0]]))
    out = warp.pad_to(size=(12, 20), fill=fill).apply(((),), sample)
    expected = np.pad(IMAGE, ((0, 2), (0, 6), (0, 0)), constant_values=fill)
    np.testing.assert_array_equal(out.image, expected, strict=True)
    np.testing.assert_array_equal(out.points, [[5, 6]])
    np.testing.assert_array_equal(out.valid, np.int32([10, 14]), strict=True)


def test_padding_again_refills():
    dirty = Sample(jnp.asarray(IMAGE), valid=jnp.asarray([7, 9]))
    out = warp.pad_to(size=(10, 14), fill=17).apply(((),), dirty)
    expected = np.full_like(IMAGE, 17)
    expected[:7, :9] = IMAGE[:7, :9]
    np.testing.assert_array_equal(out.image, expected)


UNFIT = (warp.random_crop(size=(11, 6)), warp.center_crop(size=(4, 15)), warp.pad_to(size=(9, 20)))


@pytest.mark.parametrize("op", UNFIT, ids=[op.name for op in UNFIT])
def test_sizes_that_do_not_fit_say_what_would(op):
    with pytest.raises(ValueError, match=r"\(10, 14\).*first"):
        batch(op)(jax.random.key(0), np.arange(2), _sample(2))


def test_a_crop_of_the_whole_is_the_picture():
    out = batch(warp.random_crop(size=(10, 14)))(jax.random.key(0), np.arange(5), _sample(5))
    np.testing.assert_array_equal(out.image, _sample(5).image)
