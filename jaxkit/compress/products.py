"""Products of arrays of small integers: exact sums in int32, one multiplication by the scales at their end.

Real inputs stay real: the weights alone are integers, are made real where they are used, and save memory. To round
inputs as they come, without calibration, see `dynamic.py`.
"""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jaxkit.compress.affine import along
from jaxkit.compress.qarray import QArray, spread, unpacked
from jaxkit.nn.convolution import conv_general_dilated

Array = jax.Array
AXES = "DHW"
MOST_TERMS = (2**31 - 1) // (255 * 128)  # of a sum of products of 8 bits, that int32 holds
# XLA multiplies one row of integers on CPUs ten times slower than eight.
FEWEST_ROWS = 8


def integer_dot(x: Array, w: Array, *, zero_point: Array | int = 0) -> Array:
    """`(x - zero_point) @ w`, exact: ONNX `MatMulInteger`.

    Args:
      x: int8 or uint8 `[..., K]`.
      w: int8 `[K, N]`.
      zero_point: of `x`, a scalar.

    Returns:
      int32 `[..., N]`.

    Raises:
      ValueError: if the shapes do not meet, or K is too large for sums in int32.
    """
    if w.ndim != 2 or x.ndim < 1 or x.shape[-1] != w.shape[0]:
        raise ValueError(f"integer_dot takes [..., K] and [K, N], got {x.shape} and {w.shape}")
    _check_terms(w.shape[0])
    signed, offset = _signed(x, zero_point)
    total = _group_sums(signed, w, 1)[0] - offset * jnp.sum(w, axis=0, dtype=jnp.int32)[None]
    return total.reshape(*x.shape[:-1], w.shape[1])


def integer_conv(
    x: Array,
    w: Array,
    *,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[tuple[int, int]] = "SAME",
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
    zero_point: Array | int = 0,
) -> Array:
    """The convolution of `x - zero_point` with `w`, exact: ONNX `ConvInteger`. Beyond the edge is the zero point.

    Args:
      x: int8 or uint8 `[N, ...spatial, C]`.
      w: int8 `[...spatial, C / groups, O]`.
      strides: one for all axes, or one each.
      padding: "SAME", "VALID" or (before, after) per spatial axis.
      groups: of channels; C makes it depthwise.
      dilation: one for all axes, or one each.
      zero_point: of `x`, a scalar.

    Returns:
      int32 `[N, ...spatial, O]`.

    Raises:
      ValueError: if the shapes do not meet, or a sum has too many terms for int32.
    """
    _check_conv(x.shape, w.shape, groups)
    _check_terms(math.prod(w.shape[:-1]))
    signed, offset = _signed(x, zero_point)
    steps = each_axis(strides, w.ndim - 2)
    holes = each_axis(dilation, w.ndim - 2)
    if isinstance(padding, str):
        wide = [(k - 1) * d + 1 for k, d in zip(w.shape, holes, strict=False)]
        padding = lax.padtype_to_pads(x.shape[1:-1], wide, steps, padding)
    pads = [(0, 0, 0), *((int(before), int(after), 0) for before, after in padding), (0, 0, 0)]
    # The offset is what an integer of 0 becomes, so every sum sees a whole kernel and one correction fits all.
    padded = lax.pad(signed, jnp.asarray(offset, jnp.int8), pads)
    total = _convolved(padded, w, steps, "VALID", groups, holes, preferred_element_type=jnp.int32)
    lost = offset * jnp.sum(w, axis=tuple(range(w.ndim - 1)), dtype=jnp.int32)
    return total - along(lost, total.ndim, -1)


def qdot(x: Array | QArray, w: QArray) -> Array:
    """The product of rows with a matrix of integers.

    Args:
      x: floating `[..., K]`: weights only; or a `QArray` with one scale for all or one for each row.
      w: `[K, N]` of 8 or 4 bits, with any blocks; groups along K have sums of their own.

    Returns:
      `[..., N]` of the dtype of `x`, or float32.

    Raises:
      ValueError: if the shapes do not meet, K is too large for sums in int32, or `x` has several scales in a row.
    """
    if len(w.shape) != 2 or not x.shape or x.shape[-1] != w.shape[0]:
        raise ValueError(f"qdot takes [..., K] and [K, N], got {x.shape} and {w.shape}")
    if not isinstance(x, QArray):
        return x @ w.dequantize().astype(x.dtype)
    if x.scale.shape[-1] != 1:
        raise ValueError(f"a row must have one scale, got scales {x.scale.shape} of {x.shape}; see quantize_rows")
    groups = w.scale.shape[0]
    _check_terms(w.shape[0] // max(groups, 1))
    sums = _group_sums(x.values(), w.values(), groups).astype(jnp.float32)
    total = jnp.sum(sums * spread(w.scale, (groups, w.shape[1]))[:, None], axis=0)
    return total.reshape(*x.shape[:-1], w.shape[1]) * spread(x.scale, (*x.shape[:-1], 1))


def qconv(
    x: Array | QArray,
    w: QArray,
    *,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[tuple[int, int]] = "SAME",
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Array:
    """A convolution with a kernel of integers.

    Args:
      x: floating `[N, ...spatial, C]`: weights only; or a `QArray` with one scale for all or one for each example.
      w: `[...spatial, C / groups, O]` of 8 or 4 bits; with real `x` of any blocks, else a scale for each output channel
        or one for all.
      strides, padding, groups, dilation: as for `integer_conv`.

    Returns:
      `[N, ...spatial, O]` of the dtype of `x`, or float32.

    Raises:
      ValueError: if the shapes do not meet, a sum has too many terms for int32, or scales differ within a sum.
    """
    _check_conv(x.shape, w.shape, groups)
    if not isinstance(x, QArray):
        places = len(w.shape) - 2
        steps, holes = each_axis(strides, places), each_axis(dilation, places)
        return _convolved(x, w.dequantize().astype(x.dtype), steps, padding, groups, holes)
    if any(count != 1 for count in x.scale.shape[1:]):
        raise ValueError(f"an example must have one scale, got scales {x.scale.shape} of {x.shape}")
    scale = output_scale(w)
    total = integer_conv(x.values(), w.values(), strides=strides, padding=padding, groups=groups, dilation=dilation)
    return total.astype(jnp.float32) * (x.scale * along(scale, total.ndim, -1))


def qembed(ids: Array, table: QArray) -> Array:
    """Rows of a table of integers, made real.

    Args:
      ids: integers of any shape.
      table: `[V, D]` of 8 or 4 bits, with any blocks.

    Returns:
      float32 `[*ids.shape, D]`; NaN for ids outside of `[0, V)`.

    Raises:
      ValueError: if the table has another number of axes or no rows, or ids are no integers.
    """
    if len(table.shape) != 2 or not table.shape[0] or not jnp.issubdtype(ids.dtype, jnp.integer):
        raise ValueError(f"qembed takes integer ids and a table [V, D], got {ids.dtype} and {table.shape}")
    count, width = table.shape
    held = jnp.clip(ids, 0, count - 1)
    stored = table.stored[held]
    values = stored if table.bits == 8 else unpacked(stored, width)
    scale = table.scale[held // (count // table.scale.shape[0])]
    rows = values.astype(jnp.float32) * spread(scale, (*ids.shape, width))
    return jnp.where((held == ids)[..., None], rows, jnp.nan)


def _group_sums(x: Array, w: Array, groups: int) -> Array:
    """Exact sums of every group along K: int8 `[..., K]` and `[K, N]` to int32 `[groups, rows, N]`."""
    size, count = w.shape[0] // max(groups, 1), math.prod(x.shape[:-1])
    rows = x.reshape(count, groups, size)
    filled = jnp.pad(rows, ((0, max(FEWEST_ROWS - count, 0)), (0, 0), (0, 0)))
    over = (((2,), (1,)), ((1,), (0,)))
    parts = w.reshape(groups, size, w.shape[1])
    return lax.dot_general(filled, parts, over, preferred_element_type=jnp.int32)[:, :count]


def _signed(x: Array, zero_point: Array | int) -> tuple[Array, Array]:
    """8-bit integers as int8, and what their zero point is among these, int32."""
    offset = jnp.asarray(zero_point).astype(jnp.int32)
    if x.dtype == jnp.int8:
        return x, offset
    if x.dtype != jnp.uint8:
        raise ValueError(f"integers must be int8 or uint8, got {x.dtype}")
    return lax.bitcast_convert_type(x ^ jnp.uint8(128), jnp.int8), offset - 128


def _convolved(
    x: Array, w: Array, strides: Sequence[int], padding: object, groups: int, dilation: Sequence[int], **sums: object
) -> Array:
    axes = AXES[-len(strides) :]
    layout = (f"N{axes}C", f"{axes}IO", f"N{axes}C")
    settings = {"rhs_dilation": dilation, "dimension_numbers": layout, "feature_group_count": groups, **sums}
    return conv_general_dilated(x, w, strides, padding, **settings)


def output_scale(w: QArray) -> Array:
    """Scales of the last axis alone, `[N]` or `[1]`.

    Raises:
      ValueError: if other axes have scales.
    """
    if any(count != 1 for count in w.scale.shape[:-1]) or w.scale.shape[-1] not in (1, w.shape[-1]):
        raise ValueError(f"integer sums need one scale for each output, got scales {w.scale.shape} of {w.shape}")
    return w.scale.reshape(-1)


def _check_terms(count: int) -> None:
    if count > MOST_TERMS:
        raise ValueError(f"a sum of {count} products may not fit int32; at most {MOST_TERMS} do: split it")


def _check_conv(x: tuple[int, ...], w: tuple[int, ...], groups: int) -> None:
    if not 3 <= len(x) == len(w) <= 5:
        raise ValueError(f"a convolution takes [N, ...spatial, C] and [...spatial, C / groups, O], got {x} and {w}")
    if groups < 1 or x[-1] != w[-2] * groups or w[-1] % groups:
        raise ValueError(f"{groups} groups do not fit {x[-1]} channels and a kernel {w}")


def each_axis(steps: int | Sequence[int] | None, axes: int) -> tuple[int, ...]:
    """One step for every axis, as Flax and JAX take them: one for all, one each, or None for 1."""
    steps = 1 if steps is None else steps
    return (steps,) * axes if isinstance(steps, int) else tuple(steps)
