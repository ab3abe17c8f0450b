"""Pixel ops against OpenCV, Pillow, SciPy and scikit-image, which receive the numbers that our ops drew."""

import cv2
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image, ImageOps
from scipy import ndimage
from skimage import exposure

from jaxkit import Sample, batch, image, ocr

COUNT = 4
LEVELS = np.random.default_rng(2).integers(0, 256, (COUNT, 24, 40, 3), dtype=np.uint8)
FRACTIONS = (LEVELS / 255).astype(np.float32)


def _ours(op, pictures):
    f = batch(op)
    drawn = f.draw(jax.random.key(1), np.arange(COUNT), Sample(pictures))
    return jax.tree.map(np.asarray, drawn), np.asarray(f.apply(drawn, Sample(pictures)).image)


def _levels_apart(left, right):
    return np.abs(np.asarray(left).astype(int) - np.asarray(right).astype(int)).max()


@pytest.mark.parametrize("most", [0.7, 1.5, 3.0])
def test_blur_is_gaussian_blur(most):
    op = image.gaussian_blur(sigma=(0.3, most))
    side = 2 * int(np.ceil(3 * most)) + 1
    # OpenCV's kernel for uint8 is in multiples of 1/256, which on noise costs a second level here and there.
    for pictures, slack, most_apart in ((FRACTIONS, 1e-3 / 255, 1e-3 / 255), (LEVELS, 1, 2)):
        sigmas, ours = _ours(op, pictures)
        for sigma, before, after in zip(sigmas, pictures, ours, strict=True):
            theirs = cv2.GaussianBlur(before, (side, side), float(sigma), borderType=cv2.BORDER_REFLECT_101)
            apart = np.abs(after.astype(float) - theirs)
            assert apart.max() <= most_apart and (apart > slack).mean() < 0.03


def test_blur_is_gaussian_filter():
    sigmas, ours = _ours(image.gaussian_blur(sigma=(0.3, 1.5)), FRACTIONS)
    for sigma, before, after in zip(sigmas, FRACTIONS, ours, strict=True):
        theirs = ndimage.gaussian_filter(before.astype(float), sigma, mode="mirror", radius=5, axes=(0, 1))
        assert np.abs(after - theirs).max() * 255 <= 1e-3


@pytest.mark.parametrize("polarity", ["dark", "light"])
@pytest.mark.parametrize("growth", [-2, -1, 1, 2])
def test_whole_strokes_are_erosion_and_dilation(polarity, growth):
    op = ocr.stroke_width(pixels=(growth, growth), polarity=polarity)
    square = np.ones((3, 3), np.uint8)
    change = cv2.erode if (growth > 0) == (polarity == "dark") else cv2.dilate
    for pictures in (LEVELS, FRACTIONS):
        _, ours = _ours(op, pictures)
        for before, after in zip(pictures, ours, strict=True):
            np.testing.assert_array_equal(after, change(before, square, iterations=abs(growth)))


def test_grey_is_that_of_opencv_and_pillow():
    _, ours = _ours(image.grayscale(p=1.0), LEVELS)
    for before, after in zip(LEVELS, ours, strict=True):
        assert (after == after[..., :1]).all()
        assert _levels_apart(after[..., 0], cv2.cvtColor(before, cv2.COLOR_RGB2GRAY)) <= 1
        assert _levels_apart(after[..., 0], Image.fromarray(before).convert("L")) <= 1


def test_inversion_is_that_of_pillow():
    _, ours = _ours(image.invert(p=1.0), LEVELS)
    np.testing.assert_array_equal(ours[0], ImageOps.invert(Image.fromarray(LEVELS[0])))


def test_gamma_is_that_of_scikit_image():
    ((excesses,), ours) = _ours(image.gamma(), LEVELS)
    for excess, before, after in zip(excesses, LEVELS, ours, strict=True):
        assert _levels_apart(after, exposure.adjust_gamma(before, 1 + float(excess))) <= 1


def test_brightness_and_contrast_are_a_straight_line():
    (((shifts, excesses),), ours) = _ours(image.brightness_contrast(), LEVELS)
    for shift, excess, before, after in zip(shifts, excesses, LEVELS, ours, strict=True):
        gain = 1 + float(excess)
        scaled = before.astype(np.float64) * gain + 127.5 * (1 - gain) + 255 * float(shift)
        theirs = Image.fromarray(before).point(lambda v, g=gain, s=float(shift): v * g + 127.5 * (1 - g) + 255 * s)
        assert _levels_apart(after, theirs) <= 1
        assert np.abs(after - np.clip(scaled, 0, 255)).max() <= 0.5 + 1e-3


@pytest.mark.parametrize("std", [0.01, 0.05])
def test_noise_has_the_moments_of_numpy_noise(std):
    grey = np.full((COUNT, 64, 64, 3), 128, np.uint8)
    f = batch(image.gaussian_noise(std=(std, std)))
    ours = np.asarray(f(jax.random.key(0), np.arange(COUNT), Sample(jnp.asarray(grey))).image).astype(float)
    noisy = grey + np.random.default_rng(0).normal(0, std * 255, grey.shape)
    theirs = np.clip(np.rint(noisy), 0, 255)
    tolerance = 6 * std * 255 / np.sqrt(grey.size)
    np.testing.assert_allclose(ours.mean(), theirs.mean(), atol=tolerance)
    np.testing.assert_allclose(ours.std(), theirs.std(), atol=tolerance)
    apart = np.sort(ours.ravel())[::500] - np.sort(theirs.ravel())[::500]
    assert np.abs(apart[2:-2]).max() <= max(2, 0.06 * std * 255 * 3)
