"""Padding, cutting, collating and bucketing, against loops over the input and brute force."""

import itertools

import jax
import numpy as np
import pytest

from jaxkit import Sample
from jaxkit.interop import bucket_of, buckets, numpy_collate, stack, unstack


def images(*shapes, dtype=np.uint8):
    return [np.random.default_rng(index).integers(1, 200, shape).astype(dtype) for index, shape in enumerate(shapes)]


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32])
def test_stack_pads_and_unstack_cuts(dtype):
    originals = images((5, 40, 3), (8, 33, 3), (1, 1, 3), dtype=dtype)
    sample = stack(originals, fill=7)
    assert sample.image.shape == (3, 8, 64, 3) and sample.image.dtype == dtype
    assert sample.valid.dtype == np.int32 and sample.valid.tolist() == [[5, 40], [8, 33], [1, 1]]
    for image, original in zip(sample.image, originals, strict=True):
        height, width = original.shape[:2]
        np.testing.assert_array_equal(image[:height, :width], original)
        assert (image[height:] == 7).all() and (image[:, width:] == 7).all()
    for cut, original in zip(unstack(sample), originals, strict=True):
        np.testing.assert_array_equal(cut, original)


def test_grey_images_gain_a_channel():
    (grey,) = images((4, 6))
    sample = stack([grey, grey[:, :, None]], size=(4, 6))
    assert sample.image.shape == (2, 4, 6, 1)
    np.testing.assert_array_equal(unstack(sample)[0][..., 0], grey)


@pytest.mark.parametrize(("width", "padded"), [(1, 32), (32, 32), (33, 64), (500, 512)])
def test_widths_are_rounded_up_to_32(width, padded):
    assert stack(images((3, width, 1))).image.shape == (1, 3, padded, 1)


def test_unstack_of_device_arrays_and_whole_pictures():
    sample = jax.tree.map(jax.numpy.asarray, stack(images((2, 3, 1), (4, 5, 1))))
    assert [cut.shape for cut in unstack(sample)] == [(2, 3, 1), (4, 5, 1)]
    assert [cut.shape for cut in unstack(Sample(image=np.zeros((2, 4, 5, 3))))] == [(4, 5, 3)] * 2


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: stack([]), "at least one image"),
        (lambda: stack(images((2, 3, 1)) + [np.zeros((0, 4, 1), np.uint8)]), r"image 1 .*\(0, 4, 1\)"),
        (lambda: stack(images((2, 3, 1), (5,))), r"image 1 .*\(5,\)"),
        (lambda: stack(images((2, 3, 1), (2, 3, 3))), r"image 1 of shape \(2, 3, 3\) .*image 0 of shape \(2, 3, 1\)"),
        (lambda: stack([*images((2, 3, 1)), np.zeros((2, 3), np.float32)]), "image 1 .*float32.*image 0 .*uint8"),
        (lambda: stack([np.zeros((2, 3))]), r"image 0 of shape \(2, 3\) is float64"),
        (lambda: stack(images((2, 3, 1), (9, 3, 1)), size=(8, 8)), r"image 1 of shape \(9, 3, 1\) .*\(8, 8\)"),
        (lambda: stack(images((2, 9, 1)), size=(8, 8)), r"image 0 of shape \(2, 9, 1\) .*\(8, 8\)"),
        (lambda: stack(images((2, 3, 1)), fill=256), r"fill .*\[0, 255\].*256"),
        (lambda: stack(images((2, 3, 1)), fill=0.5), r"fill .*0\.5"),
        (lambda: stack(images((2, 3, 1), dtype=np.float32), fill=np.nan), "fill must be finite"),
        (lambda: unstack(Sample(image=np.zeros((2, 3, 1)))), r"\(2, 3, 1\)"),
        (lambda: unstack(Sample(image=np.zeros((2, 4, 4, 1)), valid=np.ones(2))), r"valid must be \[2, 2\].*\(2,\)"),
        (lambda: unstack(Sample(np.zeros((1, 4, 4, 1)), valid=np.array([[4, 5]]))), r"valid\[0\] = \[4, 5\]"),
        (lambda: unstack(Sample(np.zeros((1, 4, 4, 1)), valid=np.array([[0, 4]]))), r"valid\[0\] = \[0, 4\]"),
    ],
)
def test_wrong_images_are_named(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_collate_stacks_every_leaf():
    items = [
        {"image": np.full((2, 3), i, np.uint8), "label": i, "text": f"line {i}", "weight": 0.5, "none": None}
        for i in range(3)
    ]
    batch = numpy_collate(items)
    np.testing.assert_array_equal(batch["image"], np.stack([item["image"] for item in items]))
    assert batch["label"].dtype == np.int64 and batch["label"].tolist() == [0, 1, 2]
    assert batch["weight"].dtype == np.float32 and batch["text"] == ["line 0", "line 1", "line 2"]
    assert batch["none"] is None
    sample = numpy_collate([Sample(image=np.zeros((4, 5, 3))), Sample(image=np.ones((4, 5, 3)))])
    assert isinstance(sample, Sample) and type(sample.image) is np.ndarray and sample.image.shape == (2, 4, 5, 3)


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([], "at least one item"),
        ([{"x": 1}, {"y": 1}], "item 1 has structure"),
        ([{"x": np.zeros(2)}, {"x": np.zeros(3)}], r"item\['x'\] of item 1 is .*\(3,\), of item 0 .*\(2,\)"),
        ([{"x": np.zeros(2)}, {"x": np.zeros(2, int)}], r"item\['x'\] of item 1 is int64"),
    ],
)
def test_uneven_items_are_named(items, text):
    with pytest.raises(ValueError, match=text):
        numpy_collate(items)


def padding(widths, edges):
    return sum(min(edge for edge in edges if edge >= width) - width for width in widths)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("seed", range(4))
def test_buckets_waste_the_least(seed, count):
    widths = np.random.default_rng(seed).integers(1, 30, 12).tolist()
    edges = buckets(widths, count)
    distinct = sorted(set(widths))
    choices = itertools.combinations(distinct[:-1], min(count, len(distinct)) - 1)
    assert padding(widths, edges) == min(padding(widths, (*inner, distinct[-1])) for inner in choices)
    assert len(edges) <= count and edges == tuple(sorted(edges)) and edges[-1] == max(widths)
    for width in widths:
        assert bucket_of(width, edges) == min(edge for edge in edges if edge >= width)


@pytest.mark.parametrize(("widths", "count"), [([], 2), ([0, 3], 2), ([1.5], 2), ([3], 0)])
def test_wrong_widths_are_refused(widths, count):
    with pytest.raises(ValueError, match="must be"):
        buckets(widths, count)


def test_a_width_above_the_last_edge_is_refused():
    with pytest.raises(ValueError, match=r"width 65 .*\(32, 64\)"):
        bucket_of(65, (32, 64))
