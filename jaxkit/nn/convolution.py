"""Convolutions that are fast on every backend, under the signature of `jax.lax.conv_general_dilated`.

XLA runs grouped convolutions on CPUs one group after the other, 50 to 100 times slower than the arithmetic takes. Here
a depthwise convolution is a sum of shifted products, few groups are dense convolutions side by side, and a kernel of
one place is a matrix product. Accelerators keep the convolution of XLA.
"""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array
FEW_GROUPS = 32


def conv_general_dilated(
    lhs: Array,
    rhs: Array,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    *,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Array:
    """`jax.lax.conv_general_dilated`, with other forms of the same sums where a CPU is faster with them.

    To be handed to Flax: `nnx.Conv(..., conv_general_dilated=conv_general_dilated)`.

    Args:
      lhs: the input; `[N, ...spatial, C]` where `dimension_numbers` says so.
      rhs: the kernel; `[...spatial, C / groups, features]` where `dimension_numbers` says so.
      window_strides: one stride per spatial axis.
      padding: "SAME", "VALID", or (before, after) per spatial axis.
      lhs_dilation: holes in the input, per spatial axis. Default: none.
      rhs_dilation: holes in the kernel, per spatial axis. Default: none.
      dimension_numbers: as for `jax.lax`. Other layouts than channels last take XLA's own form.
      feature_group_count: groups of channels; as many as channels make it depthwise.
      batch_group_count: as for `jax.lax`.
      precision: of the products, as for `jax.lax`.
      preferred_element_type: of the sums, such as int32 for int8 inputs.
      out_sharding: as for `jax.lax`; other than None takes XLA's own form.

    Returns:
      What `jax.lax.conv_general_dilated` returns, up to the order of the additions.
    """
    holes = rhs_dilation or (1,) * (lhs.ndim - 2)
    sums = {"precision": precision, "preferred_element_type": preferred_element_type}
    groups = {"feature_group_count": feature_group_count, "batch_group_count": batch_group_count}
    layout = {"lhs_dilation": lhs_dilation, "rhs_dilation": holes, "dimension_numbers": dimension_numbers}
    placed = {} if out_sharding is None else {"out_sharding": out_sharding}

    def whole(lhs: Array, rhs: Array) -> Array:
        settings = {**layout, **groups, **sums, **placed}
        return lax.conv_general_dilated(lhs, rhs, window_strides, padding, **settings)

    form = _form(lhs, rhs, feature_group_count)
    numbers = lax.conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    plain = batch_group_count == 1 and out_sharding is None and set(lhs_dilation or (1,)) == {1}
    if form is None or not plain or not _channels_last(numbers):
        return whole(lhs, rhs)
    pads = _pads(lhs.shape[1:-1], rhs.shape[:-2], window_strides, padding, holes)

    def on_cpu(lhs: Array, rhs: Array) -> Array:
        padded = jnp.pad(lhs, ((0, 0), *pads, (0, 0)))
        return form(padded, rhs, feature_group_count, tuple(window_strides), tuple(holes), *sums.values())

    return lax.platform_dependent(lhs, rhs, cpu=on_cpu, default=whole)


def _form(lhs: Array, rhs: Array, groups: int) -> Any:
    if groups == lhs.shape[-1] and groups > 1:
        return _depthwise
    if 1 < groups <= FEW_GROUPS:
        return _split
    if groups == 1 and math.prod(rhs.shape[:-2]) == 1:
        return _pointwise
    return None


def _channels_last(numbers: Any) -> bool:
    last = len(numbers.lhs_spec) - 1
    inputs, kernel = (0, last, *range(1, last)), (last, last - 1, *range(last - 1))
    return numbers.lhs_spec == numbers.out_spec == inputs and numbers.rhs_spec == kernel


def _pads(size: Any, kernel: Any, strides: Any, padding: Any, dilation: Any) -> tuple[tuple[int, int], ...]:
    wide = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    found = lax.padtype_to_pads(size, wide, strides, padding) if isinstance(padding, str) else padding
    return tuple((int(before), int(after)) for before, after in found)


def _depthwise(x: Array, kernel: Array, groups: int, strides: tuple, dilation: tuple, *sums: Any) -> Array:
    """The sum over the places of the kernel of shifted inputs times that place's weights."""
    _, wanted = sums
    spatial = kernel.shape[:-2]
    kernel = kernel.reshape(*spatial, 1, groups, kernel.shape[-1] // groups)
    if wanted is not None:
        x, kernel = x.astype(wanted), kernel.astype(wanted)
    total = 0
    for place in _places(spatial):
        shifted = _shifted(x, place, spatial, strides, dilation)
        total = total + _times(shifted, kernel[place])
    return total.reshape(*total.shape[:-2], -1) if kernel.shape[-1] > 1 else total


def _times(shifted: Array, weights: Array) -> Array:
    if weights.shape[-1] == 1:
        return shifted * weights[0, :, 0].reshape((1,) * (shifted.ndim - 1) + (-1,))
    return shifted[..., None] * weights[0].reshape((1,) * (shifted.ndim - 1) + weights.shape[1:])


def _places(spatial: tuple[int, ...]) -> list[tuple[int, ...]]:
    places = [()]
    for size in spatial:
        places = [(*place, i) for place in places for i in range(size)]
    return places


def _shifted(x: Array, place: tuple, spatial: tuple, strides: tuple, dilation: tuple) -> Array:
    """The inputs that one place of the kernel meets, one for each output."""
    start, stop = [0], [x.shape[0]]
    for i, size, kernel, stride, hole in zip(place, x.shape[1:-1], spatial, strides, dilation, strict=True):
        count = (size - (kernel - 1) * hole - 1) // stride + 1
        start.append(i * hole)
        stop.append(i * hole + (count - 1) * stride + 1)
    return lax.slice(x, (*start, 0), (*stop, x.shape[-1]), (1, *strides, 1))


def _pointwise(x: Array, kernel: Array, groups: int, strides: tuple, dilation: tuple, *sums: Any) -> Array:
    precision, wanted = sums
    kept = _shifted(x, (0,) * len(strides), kernel.shape[:-2], strides, dilation)
    matrix = kernel.reshape(kernel.shape[-2:])
    return lax.dot_general(kept, matrix, (((kept.ndim - 1,), (0,)), ((), ())), precision, wanted)


def _split(x: Array, kernel: Array, groups: int, strides: tuple, dilation: tuple, *sums: Any) -> Array:
    precision, wanted = sums
    axes = "DHW"[-len(strides) :]
    settings = {"rhs_dilation": dilation, "dimension_numbers": (f"N{axes}C", f"{axes}IO", f"N{axes}C")}
    settings |= {"precision": precision, "preferred_element_type": wanted}
    pairs = zip(jnp.split(x, groups, axis=-1), jnp.split(kernel, groups, axis=-1), strict=True)
    parts = [lax.conv_general_dilated(own, weights, strides, "VALID", **settings) for own, weights in pairs]
    return jnp.concatenate(parts, axis=-1)
