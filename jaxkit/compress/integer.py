"""What nodes compute on integers: sums without rounding, and the one rounding of each runtime at their end.

Everything here is a pure function of arrays, so scales may be traced and learned. A product that is followed by a sum
goes through `settled`: XLA's compilers join the two into one operation that rounds once, where runtimes round twice.
"""

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxkit.compress.affine import exact_divide, quantize, requantize
from jaxkit.compress.graph import LAYOUT
from jaxkit.compress.quantized import Affine
from jaxkit.nn.convolution import conv_general_dilated

Array = jax.Array
LARGEST = 255  # of an activation of 8 bits less its zero point
Places = tuple[Affine, Affine, Affine]
EXACT = 2**24  # up to here float32 holds every integer


def settled(x: Array) -> Array:
    """The same values, rounded to float32 before anything is added to them.

    A maximum stands between, which a compiler cannot see through; -inf becomes the lowest finite number.
    """
    return jnp.maximum(x, jnp.finfo(x.dtype).min)


def centred(x: Array, at: Affine) -> Array:
    """Integers less their zero point, as float32: exact."""
    return x.astype(jnp.float32) - _number(at.zero_point)


def real(x: Array, at: Affine) -> Array:
    """The real values of integers, float32, each rounded once: DequantizeLinear."""
    return settled(centred(x, at) * at.scale)


def dense_sums(x: Array, kernel: Array) -> Array:
    """Sums of products of integers, exact.

    Args:
      x: float32 integers `[..., I]` in [-255, 255].
      kernel: int8 `[I, O]`.

    Returns:
      int32 `[..., O]`.
    """
    total = 0
    for part in _parts(kernel, 0):
        product = jnp.matmul(x[..., part], kernel[part].astype(jnp.float32), precision=lax.Precision.HIGHEST)
        total = total + product.astype(jnp.int32)
    return total


def conv_sums(x: Array, kernel: Array, settings: Mapping[str, Any]) -> Array:
    """Sums of products of integers under a kernel, exact; what is beyond the edge is 0.

    Args:
      x: float32 integers `[N, ..., C]` in [-255, 255].
      kernel: int8 `[..., C / groups, O]`.
      settings: of the node: strides, pads, dilation, groups.

    Returns:
      int32 `[N, ..., O]`.
    """
    inputs, groups, total = kernel.ndim - 2, settings["groups"], 0
    grouped = x.reshape(*x.shape[:-1], groups, -1)
    for part in _parts(kernel, inputs):
        own = x if part == slice(None) else grouped[..., part].reshape(*x.shape[:-1], -1)
        weights = lax.slice_in_dim(kernel, *part.indices(kernel.shape[inputs])[:2], axis=inputs)
        total = total + _convolved(own, weights.astype(jnp.float32), settings).astype(jnp.int32)
    return total


def _convolved(x: Array, kernel: Array, settings: Mapping[str, Any]) -> Array:
    spread = {"rhs_dilation": settings["dilation"], "feature_group_count": settings["groups"]}
    layout = {"dimension_numbers": LAYOUT, "precision": lax.Precision.HIGHEST}
    return conv_general_dilated(x, kernel, settings["strides"], settings["pads"], **spread, **layout)


def _parts(kernel: Array, axis: int) -> list[slice]:
    """Slices of the input channels whose sums float32 holds exactly; by the weights themselves where they are known."""
    size = kernel.shape[axis]
    if traced(kernel):
        heights = np.full((size, 1), 127 * math.prod(kernel.shape[:axis]))
    else:
        magnitudes = np.abs(np.asarray(kernel, np.int64))
        heights = magnitudes.sum(axis=tuple(range(axis))).reshape(size, -1)
    for count in range(1, size + 1):
        cuts = np.linspace(0, size, count + 1).astype(int)
        parts = [slice(int(a), int(b)) for a, b in zip(cuts, cuts[1:], strict=False)]
        if all(heights[part].sum(0).max() * LARGEST < EXACT for part in parts):
            return [slice(None)] if count == 1 else parts
    raise ValueError(f"the kernel {kernel.shape} has too many places for exact sums; split the layer")


def rescaled(total: Array, factor: Array, at: Affine, dtype: Any) -> Array:
    """Integers of another scale from exact sums: one product, half to even, then the zero point (QLinearConv)."""
    return requantize(total, factor, at.zero_point, dtype=dtype)


def rounded(x: Array, at: Affine, dtype: Any) -> Array:
    """Real values as integers: QuantizeLinear."""
    return quantize(x, jnp.asarray(at.scale), jnp.asarray(at.zero_point), dtype=dtype)


def multiplier(product: Any, result: Any) -> Array:
    """`scale of the sums / scale of the result`, rounded once to float32; on the host where both are known."""
    if traced(product) or traced(result):
        product, result = jnp.asarray(product), jnp.asarray(result)
        return exact_divide(product, jnp.broadcast_to(result, product.shape))
    return np.asarray(product, np.float32) / np.asarray(result, np.float32)


def traced(x: Any) -> bool:
    """Whether a value is known only once the program runs."""
    return isinstance(x, jax.core.Tracer)


def add_divided(x: Array, y: Array, at: Places, dtype: Any) -> Array:
    """The sum of the real values, divided by the scale of the result (TFLite, XNNPACK)."""
    first, second, to = at
    return rounded(real(x, first) + real(y, second), to, dtype)


def add_folded(x: Array, y: Array, at: Places, dtype: Any) -> Array:
    """The sum with one ratio for each input and all zero points in one constant, as ONNX Runtime computes it.

    Its kernel (QLinearAdd, AVX2) multiplies and adds in one operation, three times; found by trial, on 26 million sums.

    Args:
      x, y: integers that broadcast.
      at: scales and zero points of `x`, of `y`, of the result.
      dtype: of the result.
    """
    first, second, to = at
    a, b = multiplier(first.scale, to.scale), multiplier(second.scale, to.scale)
    shift = fused(_number(first.zero_point), a, settled(_number(second.zero_point) * b))
    inner = fused(y.astype(jnp.float32), b, _number(to.zero_point) - shift)
    return _saturated(jnp.round(fused(x.astype(jnp.float32), a, inner)), dtype)


def mul_rescaled(x: Array, y: Array, at: Places, dtype: Any) -> Array:
    """The product of integers, rescaled as sums are (TFLite, XNNPACK)."""
    first, second, to = at
    factor = multiplier(first.scale * second.scale, to.scale)
    return rescaled(centred(x, first) * centred(y, second), factor, to, dtype)


def mul_shifted(x: Array, y: Array, at: Places, dtype: Any) -> Array:
    """The product of integers, to which the zero point is added before it is rounded (QLinearMul)."""
    first, second, to = at
    factor = multiplier(first.scale * second.scale, to.scale)
    product = settled(centred(x, first) * centred(y, second) * factor)
    return _saturated(jnp.round(product + _number(to.zero_point)), dtype)


def mean_rescaled(x: Array, at: tuple[Affine, Affine], axes: tuple[int, ...], dtype: Any) -> Array:
    """The mean over some axes as one exact sum and one product (QLinearGlobalAveragePool)."""
    own, to = at
    total = jnp.sum(x.astype(jnp.int32) - jnp.asarray(own.zero_point, jnp.int32), axis=axes)
    count = np.float32(math.prod(x.shape[axis] for axis in axes))
    return rescaled(total, multiplier(own.scale, to.scale * count), to, dtype)


def mean_divided(x: Array, at: tuple[Affine, Affine], axes: tuple[int, ...], dtype: Any) -> Array:
    """The real mean, of an exact sum, divided by the scale of the result."""
    own, to = at
    total = jnp.sum(x.astype(jnp.int32) - jnp.asarray(own.zero_point, jnp.int32), axis=axes)
    count = np.float32(math.prod(x.shape[axis] for axis in axes))
    mean = exact_divide(total.astype(jnp.float32), jnp.asarray(count))
    return rounded(settled(mean * own.scale), to, dtype)


def average_shifted(x: Array, at: tuple[Affine, Affine], settings: Mapping[str, Any], dtype: Any) -> Array:
    """The mean under a window, of float32 sums from its first place to its last, rounded with the zero point.

    That is what QLinearAveragePool does; the order of the additions matters, and ties are many.

    Args:
      x: integers `[N, ..., C]`.
      at: scales and zero points of `x` and of the result.
      settings: of the node: window, strides, pads.
      dtype: of the result.
    """
    own, to = at
    window, strides = settings["window"], settings["strides"]
    padded = jnp.pad(real(x, own), ((0, 0), *settings["pads"], (0, 0)))
    counts = [(n - size) // step + 1 for n, size, step in zip(padded.shape[1:-1], window, strides, strict=True)]
    total = jnp.float32(0)
    for place in np.ndindex(*window):
        ends = [start + (n - 1) * step + 1 for start, n, step in zip(place, counts, strides, strict=True)]
        total = total + lax.slice(padded, (0, *place, 0), (len(x), *ends, x.shape[-1]), (1, *strides, 1))
    mean = exact_divide(total, jnp.float32(math.prod(window)))
    return _saturated(jnp.round(exact_divide(mean, jnp.asarray(to.scale)) + _number(to.zero_point)), dtype)


def fused(x: Array, scale: Any, term: Array) -> Array:
    """`x * scale + term`, rounded once: what a fused multiply-add computes, on every backend.

    The products of `x` with the upper and the lower half of `scale` are exact; the sum of three numbers is rounded by
    way of rounding to odd (Boldo and Melquiond 2008).

    Args:
      x: float32 integers of at most 12 bits.
      scale: float32.
      term: float32.
    """
    scale = jnp.asarray(scale, jnp.float32)
    high = _bits(_bits(scale, jnp.int32) & jnp.int32(-4096), jnp.float32)
    low_sum, low_rest = _two_sum(*jnp.broadcast_arrays(term, x * (scale - high)))
    top, rest = _two_sum(*jnp.broadcast_arrays(x * high, low_sum))
    return top + _to_odd(rest, low_rest)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """A sum and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _to_odd(a: Array, b: Array) -> Array:
    """`a + b`, where it is not exact rounded to the neighbour whose last bit is 1."""
    total, error = _two_sum(a, b)
    bits = _bits(total, jnp.int32)
    towards = jnp.where((error > 0) == (total > 0), jnp.int32(1), jnp.int32(-1))
    odd = (error == 0) | (bits & 1 == 1)
    return _bits(jnp.where(odd, bits, bits + towards), jnp.float32)


def _bits(x: Array, dtype: Any) -> Array:
    return lax.bitcast_convert_type(x, dtype)


def _number(value: Any) -> Array:
    return jnp.asarray(value, jnp.float32)


def _saturated(steps: Array, dtype: Any) -> Array:
    info = jnp.iinfo(dtype)
    return jnp.clip(steps, info.min, info.max).astype(dtype)
