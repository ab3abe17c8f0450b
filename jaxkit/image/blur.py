"""Ops that smooth."""

import math

import jax
import jax.numpy as jnp

from jaxkit.boundary import apart
from jaxkit.image.tone import to_uint8
from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval
from jaxkit.records import Sample, extent
from jaxkit.warp import fold

Array = jax.Array
TRUNCATE = 3.0
SHARPEST = 1e-3


def gaussian_blur(*, sigma: tuple[float, float] = (0.0, 1.5)) -> Op:
    """Blurs with a Gaussian whose standard deviation in pixels is drawn uniformly from `sigma`.

    Rows, then columns; the kernel is cut at three times the largest sigma, as OpenCV does for 8-bit pictures, and sums
    to one; borders mirror without repeating the edge (`reflect101`). uint8 is rounded after either pass.

    Raises:
      ValueError: when built, if `sigma` is not a non-negative (low, high).
    """
    ends = interval("sigma", sigma, least=0.0)
    radius = math.ceil(TRUNCATE * ends[1])

    def apply(drawn: Array, sample: Sample) -> Sample:
        return sample.replace(image=blur(sample.image, drawn, extent(sample), radius=radius))

    return Op(lambda key, spec: draw_uniform(key, ends), apply, name="gaussian_blur", neutral=True)


def blur(image: Array, sigma: Array, extent: tuple, *, radius: int) -> Array:
    """`[H, W, C]` smoothed along both axes with one kernel of `2 * radius + 1` taps."""
    height, width, channels = image.shape
    kernel = _gaussian(sigma, radius)
    # Rows of [W * C] values fill vector registers; [W, 3] would not.
    image = apart(_smooth, image.reshape(1, height, width * channels), kernel, *_traced(extent[0]))
    return apart(_smooth, image.reshape(height, width, channels), kernel, *_traced(extent[1]))


def reflect(values: Array, length: int | Array, radius: int) -> Array:
    """Mirrors `[N, L, K]` along its middle axis by `radius` to `[N, L + 2 * radius, K]`, about the true `length`."""
    if isinstance(length, int):
        return jnp.pad(values, ((0, 0), (radius, radius), (0, 0)), mode="reflect")
    before, after = (_mirrored(values, start, length, radius) for start in (-radius, length))
    widened = jnp.concatenate([before, values, jnp.zeros_like(before)], 1)
    return jax.lax.dynamic_update_slice(widened, after, (0, radius + length, 0))


def _mirrored(values: Array, start, length: Array, radius: int) -> Array:
    places = (start + jnp.arange(radius, dtype=jnp.int32)).astype(jnp.float32)
    inside = fold(places, length.astype(jnp.float32), "reflect101").astype(jnp.int32)
    return values.at[:, inside].get(mode="promise_in_bounds")


def _gaussian(sigma: Array, radius: int) -> Array:
    """Weights `[radius + 1]` of the middle tap and those to one side; the whole kernel sums to one."""
    steps = jnp.arange(radius + 1, dtype=jnp.float32)
    weights = jnp.exp(-0.5 * jnp.square(steps / jnp.maximum(sigma, SHARPEST)))
    return weights / (2.0 * weights.sum() - weights[0])


def _traced(length) -> tuple[Array, ...]:
    return () if isinstance(length, int) else (length,)


def _smooth(values: Array, kernel: Array, length: Array | None = None) -> Array:
    radius, (rows, middle, inner) = kernel.shape[0] - 1, values.shape
    padded = reflect(values, middle if length is None else length, radius).reshape(rows, -1)
    span = middle * inner
    tap = lambda step: padded[:, (radius + step) * inner : (radius + step) * inner + span]  # noqa: E731
    if values.dtype != jnp.uint8:
        kernel = kernel.astype(values.dtype)
        pairs = [tap(-step) + tap(step) for step in range(1, radius + 1)]
        total = sum((pair * kernel[i] for i, pair in enumerate(pairs, 1)), tap(0) * kernel[0])
        return total.reshape(values.shape)
    pairs = [tap(-step).astype(jnp.uint16) + tap(step).astype(jnp.uint16) for step in range(1, radius + 1)]
    total = tap(0).astype(jnp.float32) * kernel[0]
    total = sum((pair.astype(jnp.float32) * kernel[i] for i, pair in enumerate(pairs, 1)), total)
    return to_uint8(total).reshape(values.shape)
