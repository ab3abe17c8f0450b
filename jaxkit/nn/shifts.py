"""Convolutions as sums of shifted products, which XLA fuses into one pass, and the rules for their gradients.

The derivative by the kernel would be a reduction for each place of it, which XLA runs one number at a time on CPUs. As
a scan over the examples that adds whole pictures it runs along the channels, ten times as fast.
"""

import functools
import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import SymbolicZero

Array = jax.Array


class Steps(NamedTuple):
    """Strides between outputs, and the distance of two places of the kernel, for each spatial axis."""

    strides: tuple[int, ...]
    dilation: tuple[int, ...]


def depthwise(x: Array, kernel: Array, groups: int, steps: Steps, precision: Any, preferred_element_type: Any) -> Array:
    """Each channel by kernels of its own.

    Args:
      x: `[N, ...spatial, groups]`, padded.
      kernel: `[...spatial, 1, groups * multiplier]`.
      precision: without meaning here, no product is split.
      preferred_element_type: dtype of the sums. None: that of the products.
    """
    multiplier = kernel.shape[-1] // groups
    # A last axis of size one would keep XLA from running along the channels.
    inner = (groups,) if multiplier == 1 else (groups, multiplier)
    kernel = kernel.reshape(*kernel.shape[:-2], *inner)
    if preferred_element_type is not None:
        x, kernel = x.astype(preferred_element_type), kernel.astype(preferred_element_type)
    total = _depthwise(steps, x, kernel)
    return total.reshape(*total.shape[: x.ndim - 1], -1)


def thin(x: Array, kernel: Array, groups: int, steps: Steps, precision: Any, preferred_element_type: Any) -> Array:
    """A dense convolution that sees few numbers, such as the first of a network: one product for each of them.

    Args:
      x: `[N, ...spatial, C]`, padded.
      kernel: `[...spatial, C, features]`.
      precision: for the gradients.
      preferred_element_type: dtype of the sums. None: that of the products.
    """
    if preferred_element_type is not None:
        x, kernel = x.astype(preferred_element_type), kernel.astype(preferred_element_type)
    return _thin(steps, precision, x, kernel)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _depthwise(steps: Steps, x: Array, kernel: Array) -> Array:
    """`[N, ..., C]` by `[..., C]` to `[N, ..., C]`, or by `[..., C, multiplier]` to `[N, ..., C, multiplier]`."""
    return sum(_times(part, kernel[place]) for place, part in _parts(steps, x, kernel))


@functools.partial(_depthwise.defjvp, symbolic_zeros=True)
def _depthwise_jvp(steps: Steps, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x, kernel), (dx, dkernel) = primals, tangents
    out = _depthwise(steps, x, kernel)
    tangent = jnp.zeros_like(out)
    if not isinstance(dx, SymbolicZero):
        tangent = tangent + _depthwise(steps, dx, kernel)
    if not isinstance(dkernel, SymbolicZero):
        tangent = tangent + _by_examples(steps, x, dkernel, out.shape)
    return out, tangent


def _by_examples(steps: Steps, x: Array, kernel: Array, shape: tuple[int, ...]) -> Array:
    """`_depthwise`, in the form whose transpose by the kernel is a sum of whole examples."""
    places = itertools.product(*map(range, kernel.shape[: x.ndim - 2]))
    wide = [_row(kernel[place], len(shape)) * jnp.ones((1, *shape[1:]), kernel.dtype) for place in places]

    # Without it, the shifted inputs would be kept for the transpose: as many copies as places.
    @jax.checkpoint
    def one(_: None, example: Array) -> tuple[None, Array]:
        parts = (part for _, part in _parts(steps, example[None], kernel))
        return None, sum(_times(part, weights) for part, weights in zip(parts, wide, strict=True))[0]

    return lax.scan(one, None, x)[1]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _thin(steps: Steps, precision: Any, x: Array, kernel: Array) -> Array:
    return sum(
        part[..., i : i + 1] * _row(kernel[place][i], x.ndim)
        for place, part in _parts(steps, x, kernel)
        for i in range(x.shape[-1])
    )


@functools.partial(_thin.defjvp, symbolic_zeros=True)
def _thin_jvp(steps: Steps, precision: Any, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    """XLA's own convolution is the better one for the gradients."""
    (x, kernel), (dx, dkernel) = primals, tangents
    out = _thin(steps, precision, x, kernel)
    axes = "DHW"[-len(steps.strides) :]
    settings = {"rhs_dilation": steps.dilation, "dimension_numbers": (f"N{axes}C", f"{axes}IO", f"N{axes}C")}
    settings |= {"window_strides": steps.strides, "padding": "VALID", "precision": precision}
    tangent = jnp.zeros_like(out)
    if not isinstance(dx, SymbolicZero):
        tangent = tangent + lax.conv_general_dilated(dx, kernel, **settings)
    if not isinstance(dkernel, SymbolicZero):
        tangent = tangent + lax.conv_general_dilated(x, dkernel, **settings)
    return out, tangent


def shifted(x: Array, place: tuple[int, ...], kernel: tuple[int, ...], steps: Steps) -> Array:
    """The inputs `[N, ..., C]` that one place of a kernel of some size meets, one for each output."""
    start, stop = [0], [x.shape[0]]
    for i, size, width, stride, hole in zip(place, x.shape[1:-1], kernel, *steps, strict=True):
        count = (size - (width - 1) * hole - 1) // stride + 1
        start.append(i * hole)
        stop.append(i * hole + (count - 1) * stride + 1)
    return lax.slice(x, (*start, 0), (*stop, x.shape[-1]), (1, *steps.strides, 1))


def _parts(steps: Steps, x: Array, kernel: Array) -> list[tuple[tuple[int, ...], Array]]:
    """The places of a kernel, and the inputs that each of them meets."""
    size = kernel.shape[: x.ndim - 2]
    return [(place, shifted(x, place, size, steps)) for place in itertools.product(*map(range, size))]


def _times(part: Array, weights: Array) -> Array:
    """`[N, ..., C]` by `[C]` or `[C, multiplier]`, or by what is as large as the result."""
    whole = weights.ndim >= part.ndim
    doubled = weights.ndim in (2, part.ndim + 1)
    part = part[..., None] if doubled else part
    return part * (weights if whole else _row(weights, part.ndim))


def _row(weights: Array, ndim: int) -> Array:
    return weights.reshape((1,) * (ndim - weights.ndim) + weights.shape)
