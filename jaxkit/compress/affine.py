"""The arithmetic of affine integers, to the letter of the ONNX and TensorFlow Lite specifications.

A real value is `(integer - zero_point) * scale`. Rounding is half to even, the zero point is added after rounding, and
what does not fit saturates.
"""

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array


def exact_divide(x: Array, scale: Array) -> Array:
    """`x / scale`, rounded once.

    XLA turns a division by a broadcast value into a product with its reciprocal, which is off by one ulp now and then:
    enough to round a tie the other way.

    Args:
      x: floating.
      scale: of the same dtype, broadcastable to `x`.
    """
    return lax.div(x, lax.optimization_barrier(jnp.broadcast_to(scale, x.shape)))


def quantize(
    x: Array, scale: Array, zero_point: Array | int, *, dtype: object = jnp.int8, axis: int | None = None
) -> Array:
    """Integers of real values: ONNX `QuantizeLinear`, TFLite `QUANTIZE`.

    Args:
      x: float32.
      scale: positive float32 scalar, or `[x.shape[axis]]`.
      zero_point: integer, one or of the shape of `scale`.
      dtype: int8, uint8, int16 or int32.
      axis: which axis of `x` the scales belong to. None: one scale for all.

    Returns:
      `dtype`, of the shape of `x`.
    """
    info = jnp.iinfo(dtype)
    steps = jnp.round(exact_divide(x, along(scale, x.ndim, axis)))
    # In float32, as the runtimes do: beyond 2**24 neither they nor this are exact, and both have saturated by then.
    shifted = steps + along(jnp.asarray(zero_point, jnp.float32), x.ndim, axis)
    return jnp.clip(shifted, info.min, info.max).astype(dtype)


def dequantize(values: Array, scale: Array, zero_point: Array | int, *, axis: int | None = None) -> Array:
    """Real values of integers: ONNX `DequantizeLinear`, TFLite `DEQUANTIZE`.

    Args:
      values: integers.
      scale: positive float32 scalar, or `[values.shape[axis]]`.
      zero_point: integer, one or of the shape of `scale`.
      axis: which axis of `values` the scales belong to. None: one scale for all.

    Returns:
      float32, of the shape of `values`.
    """
    offset = along(jnp.asarray(zero_point, jnp.int32), values.ndim, axis)
    return (values.astype(jnp.int32) - offset).astype(jnp.float32) * along(scale, values.ndim, axis)


def requantize(total: Array, multiplier: Array, zero_point: Array | int, *, dtype: object = jnp.int8) -> Array:
    """Integers of another scale from int32 sums, as ONNX Runtime and XNNPACK compute them: one float32 product.

    Args:
      total: int32 sums.
      multiplier: float32, `scale of the sums / scale of the result`, broadcastable to `total`.
      zero_point: of the result.
      dtype: int8 or uint8.

    Returns:
      `dtype`, of the shape of `total`.
    """
    info = jnp.iinfo(dtype)
    steps = jnp.round(total.astype(jnp.float32) * multiplier)
    return jnp.clip(steps + jnp.asarray(zero_point, jnp.float32), info.min, info.max).astype(dtype)


def along(values: Array, ndim: int, axis: int | None) -> Array:
    """Values `[C]` shaped to broadcast along one axis of an array of `ndim` axes; a scalar stays one."""
    values = jnp.asarray(values)
    if axis is None or values.ndim == 0:
        return values
    return values.reshape([-1 if i == axis % ndim else 1 for i in range(ndim)])
