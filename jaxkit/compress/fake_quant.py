"""Rounding to integers and back within a network that trains: exact values, and gradients of something smoother."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxkit.compress.affine import along, dequantize, exact_divide, quantize
from jaxkit.ranges import one_of_names

Array = jax.Array
GRADIENTS = ("straight", "clipped", "learned")


@jax.custom_jvp
def straight_through(value: Array, smooth: Array) -> Array:
    """`value` with the gradient of `smooth`: Bengio et al., "Estimating or propagating gradients through stochastic
    neurons" (2013).

    Args:
      value: what comes out, bit for bit. It gets no gradient.
      smooth: of the same shape and dtype; its values count for nothing.
    """
    del smooth
    return value


@straight_through.defjvp
def _straight_through(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    return primals[0], tangents[1]


def fake_quant(
    x: Array,
    scale: Array,
    zero_point: Array | int,
    *,
    dtype: Any = "int8",
    axis: int | None = None,
    gradient: str = "clipped",
) -> Array:
    """Real values rounded to those that integers stand for: `dequantize(quantize(x))` bit for bit, with a gradient.

    Args:
      x: float32.
      scale: positive float32 scalar, or `[x.shape[axis]]`.
      zero_point: integer, one or of the shape of `scale`; floating to have it learned.
      dtype: "int8", "uint8", "int16".
      axis: which axis of `x` the scales belong to. None: one scale for all.
      gradient: with respect to `x`, "straight" is 1 everywhere, "clipped" and "learned" are 1 where `x` is within the
        range and 0 where it saturates. With respect to the scale, "learned" is that of Esser et al., "Learned step size
        quantization" (2020), with its factor `1 / sqrt(N * largest integer)` for N values that share the scale; with
        respect to a floating zero point that of Bhalgat et al., "LSQ+" (2020), with the same factor. The others have no
        gradient there.

    Returns:
      float32, of the shape of `x`.

    Raises:
      ValueError: if there is no such gradient.
    """
    one_of_names("gradient", gradient, GRADIENTS)
    zero = jnp.asarray(zero_point)
    whole = jnp.round(lax.stop_gradient(zero)).astype(jnp.int32)
    fixed = lax.stop_gradient(jnp.asarray(scale, jnp.float32))
    held = lax.stop_gradient(x)
    value = dequantize(quantize(held, fixed, whole, dtype=dtype, axis=axis), fixed, whole, axis=axis)
    if gradient == "straight":
        return straight_through(value, x)
    if gradient == "clipped":
        return straight_through(value, jnp.where(_steps(held, fixed, whole, dtype, axis)[1], x, held))
    share = _share(x.size, fixed.size, dtype)
    scale = _slowed(jnp.asarray(scale, jnp.float32), share)
    zero = _slowed(zero, share) if jnp.issubdtype(zero.dtype, jnp.floating) else whole
    return straight_through(value, _learned(x, scale, zero, dtype, axis))


def _learned(x: Array, scale: Array, zero: Array, dtype: Any, axis: int | None) -> Array:
    """What depends on `x`, the scale and the zero point as the rounded values do, roundings held still."""
    info = jnp.iinfo(dtype)
    held, fixed, whole = lax.stop_gradient((x, scale, jnp.round(zero)))
    error, fits, shifted = _steps(held, fixed, whole, dtype, axis)
    bound = jnp.where(shifted < info.min, jnp.float32(info.min), jnp.float32(info.max))
    own, offset = along(scale, x.ndim, axis), along(zero.astype(jnp.float32), x.ndim, axis)
    return jnp.where(fits, x + error * own, (bound - offset) * own)


def _steps(x: Array, scale: Array, zero: Array, dtype: Any, axis: int | None) -> tuple[Array, Array, Array]:
    """How far values are rounded, in steps; whether they do not saturate; and their integers if nothing did."""
    info = jnp.iinfo(dtype)
    steps = exact_divide(x, along(scale, x.ndim, axis))
    whole = jnp.round(steps)
    shifted = whole + along(zero.astype(jnp.float32), x.ndim, axis)
    return whole - steps, (shifted >= info.min) & (shifted <= info.max), shifted


def _share(size: int, scales: int, dtype: Any) -> np.float32:
    return np.float32(1 / math.sqrt(max(size // max(scales, 1), 1) * int(jnp.iinfo(dtype).max)))


def _slowed(x: Array, share: np.float32) -> Array:
    """The same value with a smaller gradient."""
    return straight_through(x, x * share)
