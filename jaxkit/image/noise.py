"""Ops that add noise."""

import jax
import jax.numpy as jnp

from jaxkit.image.tone import to_uint8
from jaxkit.noise import normal, seed
from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval
from jaxkit.records import Sample

Array = jax.Array


def gaussian_noise(*, std: tuple[float, float] = (0.0, 0.05)) -> Op:
    """Adds independent Gaussian noise to every value, with a standard deviation drawn uniformly from `std`.

    `std` is a fraction of full scale: 0.05 is 12.75 levels of uint8. Results are clipped to the range of the picture.
    Drawn: the deviation, and the seed `[2]` uint32 of a field that `apply` computes while adding it (`noise.normal`:
    values within 3.45 deviations).

    Raises:
      ValueError: when built, if `std` is not a (low, high) of numbers in [0, 1].
    """
    ends = interval("std", std, least=0.0, most=1.0)

    def draw(key, spec):
        size_key, field_key = jax.random.split(key)
        return draw_uniform(size_key, ends), seed(field_key)

    def apply(params: tuple, sample: Sample) -> Sample:
        deviation, field_seed = params
        # Two axes instead of three, so that the inner one fills vector registers.
        rows = sample.image.reshape(sample.image.shape[0], -1)
        field = normal(field_seed, rows.shape) * deviation
        if rows.dtype == jnp.uint8:
            noisy = to_uint8(rows.astype(jnp.float32) + field * 255.0)
        else:
            noisy = jnp.clip(rows + field.astype(rows.dtype), 0, 1)
        return sample.replace(image=noisy.reshape(sample.image.shape))

    return Op(draw, apply, name="gaussian_noise", neutral=True)
