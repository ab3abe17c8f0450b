"""Inputs rounded as they come, by their own range: integer products without calibration."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxkit.compress.affine import along, exact_divide, quantize
from jaxkit.compress.products import integer_conv, integer_dot, output_scale
from jaxkit.compress.qarray import QArray, quantize_array

Array = jax.Array


class Dynamic(NamedTuple):
    """Integers with a scale that their own range gave: real = (values - zero_point) * scale.

    Attributes:
      values: uint8.
      scale: float32 scalar.
      zero_point: uint8 scalar.
    """

    values: Array
    scale: Array
    zero_point: Array


def dynamic_quantize(x: Array) -> Dynamic:
    """Integers over the range of an array, widened to contain 0: ONNX `DynamicQuantizeLinear`.

    Args:
      x: float32 of any shape; without a value, or all 0, the scale is 1 / 255.
    """
    low, high = jnp.min(x, initial=0.0), jnp.max(x, initial=0.0)
    width = jnp.where(high == low, 1.0, high - low).astype(jnp.float32)
    scale = exact_divide(width, jnp.float32(255))
    zero = jnp.round(jnp.clip(-exact_divide(low, scale), 0, 255)).astype(jnp.uint8)
    return Dynamic(quantize(x, scale, zero, dtype=jnp.uint8), scale, zero)


def quantize_rows(x: Array) -> QArray:
    """Symmetric integers with a scale for each row.

    Args:
      x: floating `[..., K]`.

    Returns:
      A `QArray` with scales `[..., 1]`.
    """
    rows = quantize_array(x.reshape(math.prod(x.shape[:-1]), x.shape[-1]), channel=0)
    return QArray(rows.stored.reshape(x.shape), rows.scale.reshape(*x.shape[:-1], 1), x.shape)


def dynamic_dot(x: Array, w: QArray) -> Array:
    """The product of real rows, rounded as `dynamic_quantize` does, with a matrix of integers.

    Args:
      x: float32 `[..., K]`.
      w: `[K, N]`, a scale for each column or one for all.

    Returns:
      float32 `[..., N]`.

    Raises:
      ValueError: if the shapes do not meet, K is too large for sums in int32, or `w` has groups along K.
    """
    scale = output_scale(w)
    own = dynamic_quantize(x)
    total = integer_dot(own.values, w.values(), zero_point=own.zero_point).astype(jnp.float32)
    return total * along(own.scale * scale, total.ndim, -1)


def dynamic_conv(
    x: Array,
    w: QArray,
    *,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[tuple[int, int]] = "SAME",
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Array:
    """The convolution of a real array, rounded as `dynamic_quantize` does, with a kernel of integers.

    Args:
      x: float32 `[N, ...spatial, C]`.
      w: `[...spatial, C / groups, O]`, a scale for each output channel or one for all.
      strides, padding, groups, dilation: as for `integer_conv`.

    Returns:
      float32 `[N, ...spatial, O]`.

    Raises:
      ValueError: if the shapes do not meet, a sum has too many terms for int32, or scales differ within a sum.
    """
    scale, own = output_scale(w), dynamic_quantize(x)
    settings = {"groups": groups, "dilation": dilation, "zero_point": own.zero_point}
    total = integer_conv(own.values, w.values(), strides=strides, padding=padding, **settings)
    return total.astype(jnp.float32) * along(own.scale * scale, total.ndim, -1)
