"""Means and variances over the valid part of a clip, in float32 without cancellation."""

import jax
import jax.numpy as jnp

Array = jax.Array
BLOCK = 256


def total(values: Array) -> Array:
    """The sum along the first axis `[N, ...]`, in blocks: long sums of float32 lose digits otherwise."""
    blocks = -(-values.shape[0] // BLOCK)
    padded = jnp.pad(values, [(0, blocks * BLOCK - values.shape[0])] + [(0, 0)] * (values.ndim - 1))
    return padded.reshape(blocks, BLOCK, *values.shape[1:]).sum(axis=1).sum(axis=0)


def moments(values: Array, length: Array | int) -> tuple[Array, Array, Array]:
    """Mean, deviations from it, and the sum of their squares, over the first `length` entries.

    Args:
      values: `[N, ...]`.
      length: how many leading entries are valid.

    Returns:
      The mean `[...]`, the deviations `[N, ...]`, zero where not valid, and the sum of squares `[...]`.
    """
    count = jnp.maximum(length, 1).astype(values.dtype)
    valid = (jnp.arange(values.shape[0]) < length).reshape(-1, *[1] * (values.ndim - 1))
    mean = total(jnp.where(valid, values, 0.0)) / count
    rough = jnp.where(valid, values - mean[None], 0.0)
    # What rounding left of the mean: without this, a constant would have a variance.
    rest = total(rough) / count
    deviations = jnp.where(valid, rough - rest[None], 0.0)
    return mean + rest, deviations, total(deviations * deviations)
