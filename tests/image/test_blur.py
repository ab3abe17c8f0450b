"""Smoothing against a loop, and laws of a Gaussian."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Sample, image
from tests.reference import filters

BLUR = jax.jit(image.gaussian_blur(sigma=(0.0, 1.5)).apply)
RADIUS = 5


def _picture(rng, dtype, shape):
    return rng.integers(0, 256, shape).astype(np.uint8) if dtype == "uint8" else rng.random(shape, np.float32)


def _blur(picture, sigma, **labels):
    return BLUR(jnp.float32(sigma), Sample(jnp.asarray(picture), **labels)).image


@pytest.mark.parametrize("sigma", [0.3, 0.8, 1.5])
@pytest.mark.parametrize("dtype, slack", [("uint8", 1.0), ("float32", 2e-6)], ids=["uint8", "float32"])
def test_blur_is_the_loop(sigma, dtype, slack, rng):
    picture = _picture(rng, dtype, (9, 13, 3))
    ours = _blur(picture, sigma)
    assert ours.dtype == dtype
    np.testing.assert_allclose(np.asarray(ours, np.float64), filters.gaussian(picture, sigma, RADIUS), atol=slack)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 9, 3), (3, 2, 4), (2, 30, 1)])
def test_pictures_smaller_than_the_kernel(shape, rng):
    picture = rng.random(shape).astype(np.float32)
    np.testing.assert_allclose(_blur(picture, 1.4), filters.gaussian(picture, 1.4, RADIUS), atol=2e-6)


@pytest.mark.parametrize("extent", [(1, 1), (2, 7), (9, 3), (6, 13)])
@pytest.mark.parametrize("dtype, slack", [("uint8", 1.0), ("float32", 2e-6)], ids=["uint8", "float32"])
def test_padded_pictures_mirror_at_their_true_edge(extent, dtype, slack, rng):
    height, width = extent
    picture = _picture(rng, dtype, (9, 13, 2))
    inner = picture[:height, :width].copy()
    picture[height:], picture[:, width:] = (7, 7) if dtype == "uint8" else (np.nan, np.nan)
    ours = _blur(picture, 1.2, valid=jnp.asarray(extent))[:height, :width]
    np.testing.assert_allclose(np.asarray(ours, np.float64), filters.gaussian(inner, 1.2, RADIUS), atol=slack)


def test_blurs_add_in_variance(rng):
    noise = rng.random((40, 40, 1)).astype(np.float32)
    twice, once = _blur(_blur(noise, 0.9), 1.2), _blur(noise, 1.5)
    np.testing.assert_allclose(twice[8:-8, 8:-8], once[8:-8, 8:-8], atol=0.01)


def test_a_point_becomes_a_gaussian_of_the_drawn_width():
    point = np.zeros((31, 31, 1), np.float32)
    point[15, 15] = 1
    spread = np.asarray(_blur(point, 1.2))[..., 0]
    y, x = np.mgrid[-15:16, -15:16]
    np.testing.assert_allclose(spread.sum(), 1, rtol=1e-5)
    np.testing.assert_allclose([(spread * x**2).sum(), (spread * y**2).sum()], [1.44, 1.44], rtol=0.01)
    np.testing.assert_allclose(spread, spread.T, atol=1e-7)


@pytest.mark.parametrize("sigma", [0.0, 0.5, 1.5])
def test_a_constant_picture_stays(sigma):
    for level in (0, 127, 255):
        np.testing.assert_array_equal(_blur(np.full((6, 7, 3), level, np.uint8), sigma), np.full((6, 7, 3), level))
