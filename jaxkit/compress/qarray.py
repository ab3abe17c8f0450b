"""Arrays of small integers that know their scales."""

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxkit.compress.affine import exact_divide

Array = jax.Array
BITS = (8, 4)


@functools.partial(jax.tree_util.register_dataclass, data_fields=["stored", "scale"], meta_fields=["shape", "bits"])
@dataclasses.dataclass(frozen=True)
class QArray:
    """Signed integers with symmetric scales: the real values are `values() * scales()`.

    Attributes:
      stored: int8 of `shape`; for 4 bits uint8 `[..., ceil(last / 2)]`, two to a byte, the first in the low half (as
        ONNX packs them).
      scale: float32 with as many axes as `shape`, each of them one or a divisor of that axis: a scale belongs to a
        block of neighbours along every axis.
      shape: of the array that it stands for.
      bits: 8 or 4.
    """

    stored: Any
    scale: Any
    shape: tuple[int, ...]
    bits: int = 8

    @property
    def nbytes(self) -> int:
        """Bytes that the integers and the scales take."""
        return self.stored.nbytes + self.scale.nbytes

    def values(self) -> Array:
        """The integers, int8 of `shape`."""
        return self.stored if self.bits == 8 else unpacked(self.stored, self.shape[-1])

    def scales(self) -> Array:
        """The scale of every value, float32 of `shape`."""
        return spread(self.scale, self.shape)

    def dequantize(self) -> Array:
        """The real values, float32 of `shape`."""
        return self.values().astype(jnp.float32) * self.scales()


def quantize_array(
    x: Array, *, bits: int = 8, channel: int | None = None, group: tuple[int, int] | None = None
) -> QArray:
    """Symmetric integers of an array: `scale = largest magnitude / 127` (or 7), values rounded half to even.

    Args:
      x: floating, finite.
      bits: 8, or 4 packed two to a byte.
      channel: the axis whose members have a scale each. None: one scale for all.
      group: `(axis, size)`: along that axis every `size` neighbours have a scale, for each channel.

    Returns:
      A `QArray` of the shape of `x`. Where a block is zero its scale is 1 and its values are 0.

    Raises:
      ValueError: if there is no such axis or number of bits, or the size of a group does not divide its axis.
    """
    if bits not in BITS:
        raise ValueError(f"bits must be 8 or 4, got {bits!r}")
    blocks = block_counts(x.shape, channel, group)
    largest = _largest(jnp.abs(x.astype(jnp.float32)), blocks)
    # A magnitude whose share is below the smallest normal float has no scale that represents it.
    most = 2 ** (bits - 1) - 1
    scale = jnp.where(largest / most > jnp.finfo(jnp.float32).tiny, exact_divide(largest, jnp.float32(most)), 1.0)
    steps = jnp.round(exact_divide(x.astype(jnp.float32), spread(scale, x.shape)))
    values = jnp.clip(steps, -most, most).astype(jnp.int8)
    return QArray(values if bits == 8 else packed(values), scale, x.shape, bits)


def block_counts(shape: tuple[int, ...], channel: int | None, group: tuple[int, int] | None) -> tuple[int, ...]:
    """How many blocks of common scale there are along each axis.

    Raises:
      ValueError: if there is no such axis, or the size of a group does not divide its axis.
    """
    counts = [1] * len(shape)
    if channel is not None:
        axis = _axis("channel", channel, shape)
        counts[axis] = shape[axis]
    if group is not None:
        axis, size = _axis("group", group[0], shape), group[1]
        if type(size) is not int or size < 1 or shape[axis] % size:
            raise ValueError(
                f"groups of {size} do not divide axis {axis} of {shape}; choose a divisor of {shape[axis]}"
            )
        counts[axis] = shape[axis] // size
    return tuple(counts)


def spread(scale: Array, shape: tuple[int, ...]) -> Array:
    """Scales of blocks as scales of values."""
    for axis, (count, size) in enumerate(zip(scale.shape, shape, strict=True)):
        if count not in (1, size):
            scale = jnp.repeat(scale, size // count, axis=axis)
    return jnp.broadcast_to(scale, shape)


def packed(values: Array) -> Array:
    """Values in [-8, 7], int8 `[..., n]`, as uint8 `[..., ceil(n / 2)]`, the first of a pair in the low half."""
    odd = values.shape[-1] % 2
    pairs = jnp.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, odd)]).reshape(
        *values.shape[:-1], (values.shape[-1] + odd) // 2, 2
    )
    halves = pairs.astype(jnp.uint8) & 15
    return halves[..., 0] | (halves[..., 1] << 4)


def unpacked(stored: Array, size: int) -> Array:
    """The inverse of `packed`: int8 `[..., size]`."""
    halves = jnp.stack([stored & 15, stored >> 4], axis=-1).reshape(*stored.shape[:-1], 2 * stored.shape[-1])[
        ..., :size
    ]
    return (halves.astype(jnp.int8) ^ jnp.int8(8)) - jnp.int8(8)


def _largest(magnitude: Array, counts: tuple[int, ...]) -> Array:
    split = [
        part for size, count in zip(magnitude.shape, counts, strict=True) for part in (count, size // max(count, 1))
    ]
    if math.prod(magnitude.shape) == 0:
        return jnp.zeros(counts, jnp.float32)
    return jnp.max(magnitude.reshape(split), axis=tuple(range(1, len(split), 2)))


def _axis(where: str, axis: int, shape: tuple[int, ...]) -> int:
    if type(axis) is not int or not -len(shape) <= axis < len(shape):
        raise ValueError(f"{where} names axis {axis!r}, an array of shape {shape} has none such")
    return axis % len(shape)
