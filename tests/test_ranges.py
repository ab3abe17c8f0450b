"""Checks of settings, and draws from ranges."""

import math

import jax
import numpy as np
import pytest

from jaxkit import batch, image, ocr, warp
from jaxkit.ranges import draw_uniform, interval, one_of_names, probability, size_pair
from jaxkit.records import Sample

MEMBERS = 600
SPEC = Sample(jax.ShapeDtypeStruct((MEMBERS, 24, 40, 3), "uint8"))


@pytest.mark.parametrize("value", [(0, 1), [0, 1], np.array([0, 1]), (0.0, 1.0)], ids=lambda value: str(type(value)))
def test_an_interval_is_any_pair_of_numbers(value):
    assert interval("x", value) == (0.0, 1.0)
    assert interval("x", (1, 1)) == (1.0, 1.0)


@pytest.mark.parametrize("value", [(1, 0), 1, (1,), (0, 1, 2), (0, math.nan), (-math.inf, 0), "ab", None, ("a", 1), {}])
def test_an_interval_is_nothing_else(value):
    with pytest.raises(ValueError, match="^strength must be"):
        interval("strength", value)


@pytest.mark.parametrize("value", [(-1, 0), (0, 3), (-5, 5)])
def test_an_interval_keeps_its_bounds(value):
    assert interval("x", (0, 2), least=0, most=2) == (0, 2)
    with pytest.raises(ValueError, match=r"within \[0, 2\], got"):
        interval("x", value, least=0, most=2)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, "0.5", None, True, (0, 1)])
def test_a_probability_is_a_number_from_0_to_1(value):
    assert [probability("p", good) for good in (0, 0.5, 1, np.float64(0.25))] == [0.0, 0.5, 1.0, 0.25]
    with pytest.raises(ValueError, match="p must be a probability"):
        probability("p", value)


@pytest.mark.parametrize("value", [8, (8,), (8, 8, 3), (0, 8), (8, -1), (8.0, 8), (True, 8), "88", None])
def test_a_size_is_two_positive_ints(value):
    assert size_pair("size", [8, 9]) == (8, 9)
    with pytest.raises(ValueError, match=r"size must be \(height, width\)"):
        size_pair("size", value)


def test_names_are_listed_in_the_message():
    assert one_of_names("kind", "arc", ("arc", "sine")) == "arc"
    with pytest.raises(ValueError, match="kind must be one of arc, sine, got 'line'"):
        one_of_names("kind", "line", ("arc", "sine"))


def test_draws_are_uniform_over_the_interval():
    values = np.asarray(draw_uniform(jax.random.key(0), (-3.0, 5.0), (4000,)))
    assert values.dtype == np.float32 and values.min() >= -3 and values.max() < 5
    counts, _ = np.histogram(values, bins=8, range=(-3, 5))
    assert np.all(np.abs(counts - 500) < 5 * np.sqrt(500))


# The op with a range that is symmetric about the identity, how to find the drawn number, and its bound.
SYMMETRIC = {
    "rotate": (warp.rotate(degrees=(-5, 5)), lambda params: params[0], 5.0),
    "scale": (warp.scale(factor=(0.9, 1.1)), lambda params: params[0], 0.1),
    "shear": (warp.shear(degrees=(-8, 8)), lambda params: params[0], 8.0),
    "translate": (warp.translate(fraction=(-0.05, 0.05)), lambda params: params[0], 0.05),
    "perspective": (warp.perspective(strength=(0.06, 0.06)), lambda params: params[0], 0.06),
    "elastic": (warp.elastic(pixels=(3, 3), grid=(4, 5)), lambda params: params[0], 3.0),
    "brightness": (image.brightness_contrast(), lambda params: params[0][0], 0.2),
    "contrast": (image.brightness_contrast(), lambda params: params[0][1], 0.2),
    "gamma": (image.gamma(exponent=(0.5, 1.5)), lambda params: params[0], 0.5),
    "stroke_width": (ocr.stroke_width(pixels=(-0.7, 0.7)), lambda params: params, 0.7),
    "curve": (ocr.curve(height=(-0.1, 0.1)), lambda params: params[0][0], 0.1),
}


@pytest.mark.parametrize("op, pick, bound", SYMMETRIC.values(), ids=SYMMETRIC)
def test_symmetric_ranges_give_symmetric_draws(op, pick, bound):
    values = np.asarray(pick(batch(op).draw(jax.random.key(8), np.arange(MEMBERS), SPEC))).reshape(MEMBERS, -1)
    count, deviation = values.size, bound / np.sqrt(3)
    assert np.abs(values).max() <= bound * (1 + 1e-5)
    np.testing.assert_allclose(values.mean(), 0, atol=4 * deviation / np.sqrt(count))
    np.testing.assert_allclose(values.std(), deviation, rtol=4 / np.sqrt(count))
    np.testing.assert_allclose((values > 0).mean(), 0.5, atol=2 / np.sqrt(count))
    for left in range(values.shape[1]):
        for right in range(left):
            assert abs(np.corrcoef(values[:, left], values[:, right])[0, 1]) < 5 / np.sqrt(MEMBERS)


SINGLE_SIGNED = {
    "sigma": (image.gaussian_blur(sigma=(0.5, 1.5)), lambda params: params, 0.5, 1.5),
    "std": (image.gaussian_noise(std=(0.01, 0.05)), lambda params: params[0], 0.01, 0.05),
    "periods": (ocr.curve(kind="sine", periods=(0.5, 1.5)), lambda params: params[0][1], 0.5, 1.5),
    "place": (warp.random_crop(size=(8, 8)), lambda params: params[0], 0.0, 1.0),
}


@pytest.mark.parametrize("op, pick, low, high", SINGLE_SIGNED.values(), ids=SINGLE_SIGNED)
def test_other_ranges_are_filled_evenly(op, pick, low, high):
    values = np.asarray(pick(batch(op).draw(jax.random.key(8), np.arange(MEMBERS), SPEC))).ravel()
    assert values.min() >= low and values.max() <= high
    np.testing.assert_allclose(values.mean(), (low + high) / 2, atol=4 * (high - low) / np.sqrt(12 * values.size))
