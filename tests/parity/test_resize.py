"""Changes of size against Pillow, OpenCV and `jax.image`."""

import cv2
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from jaxkit import Sample, warp

HEIGHT, WIDTH = 24, 40
LEVELS = np.random.default_rng(4).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
FRACTIONS = (LEVELS / 255).astype(np.float32)
SIZES = ((12, 20), (16, 60), (7, 11), (48, 80), (1, 1))
EACH_SIZE = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


def _ours(picture, size, antialias):
    op, sample = warp.resize(size=size, antialias=antialias), Sample(jnp.asarray(picture))
    return np.asarray(jax.jit(op.apply)(op.draw(jax.random.key(0), sample), sample).image)


@EACH_SIZE
def test_antialias_is_bilinear_of_pillow(size):
    floating, levels = _ours(FRACTIONS, size, True), _ours(LEVELS, size, True)
    for channel in range(3):
        theirs = Image.fromarray(FRACTIONS[..., channel]).resize(size[::-1], Image.Resampling.BILINEAR)
        assert np.abs(floating[..., channel] - np.asarray(theirs)).max() * 255 <= 1e-3
    rounded = np.asarray(Image.fromarray(LEVELS).resize(size[::-1], Image.Resampling.BILINEAR))
    # Both round after either pass, Pillow across first: rarely two roundings differ.
    apart = np.abs(levels.astype(int) - rounded)
    assert apart.max() <= 2 and (apart > 1).mean() < 0.002


@EACH_SIZE
@pytest.mark.parametrize("antialias", [True, False], ids=["antialias", "plain"])
def test_values_are_those_of_jax_image(size, antialias):
    theirs = jax.image.resize(FRACTIONS, (*size, 3), "linear", antialias=antialias)
    assert np.abs(_ours(FRACTIONS, size, antialias) - theirs).max() * 255 <= 2e-3


@EACH_SIZE
def test_plain_is_linear_of_opencv(size):
    for picture, slack in ((FRACTIONS, 1e-3 / 255), (LEVELS, 1)):
        theirs = cv2.resize(picture, size[::-1], interpolation=cv2.INTER_LINEAR)
        assert np.abs(_ours(picture, size, False).astype(float) - theirs).max() <= slack
