"""Convolutions that are fast on every backend, under the signature of `jax.lax.conv_general_dilated`.

XLA runs grouped convolutions on CPUs one group after the other, 50 to 100 times slower than the arithmetic takes. Here
a depthwise convolution is a sum of shifted products, few groups are dense convolutions side by side, a kernel of
one place is a matrix product, and one that sees few numbers, as on pictures of three channels, is a sum of shifted
products too. Accelerators keep the convolution of XLA.
"""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxkit.nn.shifts import Steps, depthwise, shifted, thin

Array = jax.Array
FEW_GROUPS = 32
FEW_TERMS = 32


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
        return form(padded, rhs, feature_group_count, Steps(tuple(window_strides), tuple(holes)), **sums)

    return lax.platform_dependent(lhs, rhs, cpu=on_cpu, default=whole)


def _form(lhs: Array, rhs: Array, groups: int) -> Any:
    if groups == lhs.shape[-1] and groups > 1:
        return depthwise
    if 1 < groups <= FEW_GROUPS:
        return _split
    if groups == 1 and math.prod(rhs.shape[:-2]) == 1:
        return _pointwise
    return thin if groups == 1 and math.prod(rhs.shape[:-1]) <= FEW_TERMS else None


def _channels_last(numbers: Any) -> bool:
    last = len(numbers.lhs_spec) - 1
    inputs, kernel = (0, last, *range(1, last)), (last, last - 1, *range(last - 1))
    return numbers.lhs_spec == numbers.out_spec == inputs and numbers.rhs_spec == kernel


def _pads(size: Any, kernel: Any, strides: Any, padding: Any, dilation: Any) -> tuple[tuple[int, int], ...]:
    wide = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    found = lax.padtype_to_pads(size, wide, strides, padding) if isinstance(padding, str) else padding
    return tuple((int(before), int(after)) for before, after in found)


def _pointwise(x: Array, kernel: Array, groups: int, steps: Steps, **sums: Any) -> Array:
    kept = shifted(x, (0,) * len(steps.strides), kernel.shape[:-2], steps)
    matrix = kernel.reshape(kernel.shape[-2:])
    return lax.dot_general(kept, matrix, (((kept.ndim - 1,), (0,)), ((), ())), **sums)


def _split(x: Array, kernel: Array, groups: int, steps: Steps, **sums: Any) -> Array:
    axes = "DHW"[-len(steps.strides) :]
    settings = {"rhs_dilation": steps.dilation, "dimension_numbers": (f"N{axes}C", f"{axes}IO", f"N{axes}C"), **sums}
    pairs = zip(jnp.split(x, groups, axis=-1), jnp.split(kernel, groups, axis=-1), strict=True)
    parts = [lax.conv_general_dilated(own, weights, steps.strides, "VALID", **settings) for own, weights in pairs]
    return jnp.concatenate(parts, axis=-1)
