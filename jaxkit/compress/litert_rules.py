"""How LiteRT's kernels (XNNPACK) round where they do not round as ONNX Runtime's do.

All found by trial against ai-edge-litert 2.3 on x86 with AVX-512, on every pair of integers for sums and differences.
Convolutions, dense layers and products have the one float32 product of `integer.rescaled`.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxkit.compress import integer
from jaxkit.compress.quantized import Affine

Array = jax.Array
BITS = 20  # the larger factor of a sum has one more


def rounded(x: Array, at: Affine, dtype: Any) -> Array:
    """Real values as integers: times the reciprocal of the scale, which is rounded once itself."""
    reciprocal = integer.multiplier(jnp.float32(1), at.scale) if integer.traced(at.scale) else 1 / at.scale
    return _saturated(jnp.round(x * reciprocal), at, dtype)


def add_fixed(x: Array, y: Array, at: integer.Places, dtype: Any) -> Array:
    """A sum of integers times factors of 21 bits, shifted back, half up."""
    return _sum(x, y, at, dtype, 1)


def sub_fixed(x: Array, y: Array, at: integer.Places, dtype: Any) -> Array:
    """As `add_fixed`, with the second factor negative."""
    return _sum(x, y, at, dtype, -1)


def _sum(x: Array, y: Array, at: integer.Places, dtype: Any, sign: int) -> Array:
    first, second, to = at
    ratios = [jnp.float32(integer.multiplier(one.scale, to.scale)) for one in (first, second)]
    _, exponent = jnp.frexp(jnp.maximum(*ratios))
    shift = BITS + 1 - exponent
    a, b = (jnp.round(jnp.ldexp(ratio, shift)).astype(jnp.int32) for ratio in ratios)
    total = _centred(x, first) * a + sign * _centred(y, second) * b + (1 << (shift - 1))
    return _saturated(lax.shift_right_arithmetic(total, jnp.broadcast_to(shift, total.shape)), to, dtype)


def mean_shifted(x: Array, at: tuple[Affine, Affine], axes: tuple[int, ...], dtype: Any) -> Array:
    """The sum of the integers as they are, times one factor, plus both zero points, rounded at last."""
    own, to = at
    count = np.float32(math.prod(x.shape[axis] for axis in axes))
    total = jnp.sum(x.astype(jnp.int32), axis=axes).astype(jnp.float32)
    factor = jnp.float32(integer.multiplier(own.scale, to.scale) * np.float32(1 / count))
    shift = jnp.float32(to.zero_point) - integer.settled(jnp.float32(own.zero_point) * count * factor)
    info = jnp.iinfo(dtype)
    return jnp.clip(jnp.round(integer.settled(total * factor) + shift), info.min, info.max).astype(dtype)


def hard_sigmoid(x: Array, at: tuple[Affine, Affine], dtype: Any) -> Array:
    """In float between integers, with a sixth for what other runtimes divide by six."""
    own, to = at
    return rounded(integer.settled(jnp.clip(integer.real(x, own) + 3.0, 0.0, 6.0) * jnp.float32(1 / 6)), to, dtype)


def _centred(x: Array, at: Affine) -> Array:
    return x.astype(jnp.int32) - jnp.int32(at.zero_point)


def _saturated(steps: Array, at: Affine, dtype: Any) -> Array:
    info = jnp.iinfo(dtype)
    shifted = steps + jnp.asarray(at.zero_point, steps.dtype)
    return jnp.clip(shifted, info.min, info.max).astype(dtype)
