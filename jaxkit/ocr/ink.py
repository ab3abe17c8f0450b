"""Ops on the strokes of text."""

import math

import jax
import jax.numpy as jnp

from jaxkit.boundary import apart
from jaxkit.image import to_uint8
from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval, one_of_names
from jaxkit.records import Sample, extent
from jaxkit.warp.border import cut

Array = jax.Array
POLARITIES = ("dark", "light")


def stroke_width(*, pixels: tuple[float, float] = (-0.7, 0.7), polarity: str = "dark") -> Op:
    """Thickens (positive) or thins strokes by a number of pixels on each side, drawn uniformly; fractions count.

    Grey morphology with a 3 x 3 square, repeated: the whole part of `pixels` in full, then blended by the fraction with
    one more, so that the effect grows continuously. Nothing enters from beyond the picture. What OpenCV's `erode`
    (a minimum) does to dark ink on light paper is to thicken it.

    Args:
      pixels: growth of a stroke on each side.
      polarity: `dark` ink on light paper, or `light` on dark.

    Raises:
      ValueError: when built, if `pixels` is not a finite (low, high) or the polarity is unknown.
    """
    ends = interval("pixels", pixels)
    dark = one_of_names("polarity", polarity, POLARITIES) == "dark"
    steps = math.ceil(max(abs(end) for end in ends))

    def apply(growth: Array, sample: Sample) -> Sample:
        lowering = (growth > 0) == dark
        lowered = _negative(sample.image, lowering)
        for step in range(steps):
            share = jnp.clip(jnp.abs(growth) - step, 0.0, 1.0)
            # Beyond the true extent nothing is darker than what is within.
            lowered = apart(_thicken, cut(lowered, extent(sample), _top(lowered.dtype)), share)
        return sample.replace(image=_negative(lowered, lowering))

    return Op(lambda key, spec: draw_uniform(key, ends), apply, name="stroke_width", neutral=True)


def _negative(image: Array, keep: Array) -> Array:
    """The picture or its negative: a maximum is the minimum of negatives, so one filter serves both."""
    return jnp.where(keep, image, 255 - image if image.dtype == jnp.uint8 else -image)


def _top(dtype) -> Array:
    return jnp.asarray(255 if dtype == jnp.uint8 else jnp.inf, dtype)


def _thicken(image: Array, share: Array) -> Array:
    return _towards(image, _minimum(image), share)


def _minimum(image: Array) -> Array:
    """The least of the 3 x 3 neighbours, `[H, W, C]`."""
    height, width, channels = image.shape
    top = _top(image.dtype)
    rows = image.reshape(height, width * channels)
    across = jnp.pad(rows, ((0, 0), (channels, channels)), constant_values=top)
    rows = _least(across[:, : -2 * channels], rows, across[:, 2 * channels :])
    down = jnp.pad(rows, ((1, 1), (0, 0)), constant_values=top)
    return _least(down[:-2], rows, down[2:]).reshape(image.shape)


def _least(before: Array, middle: Array, after: Array) -> Array:
    return jnp.minimum(jnp.minimum(before, after), middle)


def _towards(image: Array, target: Array, share: Array) -> Array:
    if image.dtype != jnp.uint8:
        share = share.astype(image.dtype)
        return image * (1 - share) + target * share
    start = image.astype(jnp.float32)
    return to_uint8(start + (target.astype(jnp.float32) - start) * share)
