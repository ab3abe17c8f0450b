"""Thickness of strokes against a loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Sample, ocr
from tests.reference import filters


def _picture(rng, dtype, shape):
    return rng.integers(0, 256, shape).astype(np.uint8) if dtype == "uint8" else rng.random(shape, np.float32)


STROKE = {p: jax.jit(ocr.stroke_width(pixels=(-2.0, 2.0), polarity=p).apply) for p in ("dark", "light")}


def _stroke(picture, growth, polarity="dark", **labels):
    return np.asarray(STROKE[polarity](jnp.float32(growth), Sample(jnp.asarray(picture), **labels)).image)


@pytest.mark.parametrize("polarity", ["dark", "light"])
@pytest.mark.parametrize("growth", [-2.0, -1.3, -0.4, 0.6, 1.0, 1.7])
@pytest.mark.parametrize("dtype, slack", [("uint8", 1.0), ("float32", 1e-6)], ids=["uint8", "float32"])
def test_strokes_are_the_loop(polarity, growth, dtype, slack, rng):
    picture = _picture(rng, dtype, (7, 9, 2))
    expected = filters.stroke(picture.astype(np.float64), growth, polarity == "dark")
    np.testing.assert_allclose(_stroke(picture, growth, polarity).astype(np.float64), expected, atol=slack)


@pytest.mark.parametrize("polarity, ink", [("dark", 0), ("light", 255)])
@pytest.mark.parametrize("growth, width", [(-1.0, 3), (0.0, 5), (1.0, 7), (2.0, 9)])
def test_a_stroke_grows_on_each_side(polarity, ink, growth, width):
    line = np.full((9, 21, 1), 255 - ink, np.uint8)
    line[:, 8:13] = ink
    assert (_stroke(line, growth, polarity)[4, :, 0] == ink).sum() == width


def test_growth_is_continuous(rng):
    picture = rng.random((7, 9, 1)).astype(np.float32)
    for growth in (-1.0, 0.0, 1.0):
        near = [_stroke(picture, growth + step) for step in (-1e-3, 1e-3)]
        np.testing.assert_allclose(near[0], near[1], atol=2.5e-3)


@pytest.mark.parametrize("growth", [-1.5, 1.5])
def test_nothing_enters_from_beyond_the_picture(growth):
    for level in (0, 90, 255):
        np.testing.assert_array_equal(_stroke(np.full((4, 5, 3), level, np.uint8), growth), np.full((4, 5, 3), level))


@pytest.mark.parametrize("polarity", ["dark", "light"])
@pytest.mark.parametrize("growth", [-1.6, 1.6])
def test_nothing_enters_from_the_padding(polarity, growth, rng):
    picture = rng.integers(0, 256, (8, 9, 1)).astype(np.uint8)
    for garbage in (0, 255):
        padded = np.full_like(picture, garbage)
        padded[:5, :6] = picture[:5, :6]
        ours = _stroke(padded, growth, polarity, valid=jnp.asarray([5, 6]))[:5, :6]
        np.testing.assert_array_equal(ours, _stroke(picture[:5, :6], growth, polarity))


@pytest.mark.parametrize("polarity, darker", [("dark", True), ("light", False)])
def test_thicker_ink_darkens_or_lightens(polarity, darker, rng):
    picture = rng.integers(0, 256, (9, 9, 1)).astype(np.uint8)
    thick, thin = (_stroke(picture, growth, polarity).astype(int) for growth in (1.2, -1.2))
    low, high = (thick, thin) if darker else (thin, thick)
    assert (low <= picture).all() and (high >= picture).all()
    assert low.mean() < picture.mean() < high.mean()
