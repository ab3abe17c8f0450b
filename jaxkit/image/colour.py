"""Ops that mix the channels of a pixel."""

import jax
import jax.numpy as jnp

from jaxkit.boundary import apart
from jaxkit.image.tone import to_uint8
from jaxkit.op import Op
from jaxkit.ranges import probability
from jaxkit.records import Sample

Array = jax.Array
BT601 = (0.299, 0.587, 0.114)


def grayscale(*, p: float = 0.2) -> Op:
    """Replaces all channels by the luma 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601) with probability `p`.

    The number of channels stays; a picture of one channel is left as it is. Drawn: whether.

    Raises:
      ValueError: when built, if `p` is outside [0, 1]; when traced, if the picture has neither one nor three channels.
    """
    chance = probability("p", p)

    def apply(hit: Array, sample: Sample) -> Sample:
        channels = sample.image.shape[-1]
        if channels == 1:
            return sample
        if channels != 3:
            raise ValueError(f"grayscale needs 1 or 3 channels, got an image of {sample.image.shape}")
        return sample.replace(image=apart(_choose, _luma(sample.image), sample.image, hit))

    return Op(lambda key, spec: jax.random.bernoulli(key, chance), apply, name="grayscale", neutral=True)


def _choose(luma: Array, image: Array, hit: Array) -> Array:
    return jnp.where(hit, luma, image)


def _luma(image: Array) -> Array:
    if image.dtype != jnp.uint8:
        return sum(jnp.asarray(part, image.dtype) * image[..., i : i + 1] for i, part in enumerate(BT601))
    return to_uint8(sum(part * image[..., i : i + 1].astype(jnp.float32) for i, part in enumerate(BT601)))
