"""The true extent of padded features."""

import jax
import jax.numpy as jnp

from jaxkit.records import Clip, Features

Array = jax.Array


def frame_length(features: Features) -> Array | int:
    """How many leading frames are valid: a static int where all are, else an int32 scalar."""
    return features.values.shape[0] if features.length is None else features.length


def masked(features: Features) -> Features:
    """The features with zeros beyond their length, whatever was there (also NaN).

    Raises:
      ValueError: if the values are not `[frames, bins]`.
    """
    if len(features.values.shape) != 2:
        raise ValueError(f"features are [frames, bins], got {features.values.shape}; use jax.vmap for a batch")
    if features.length is None:
        return features
    return features.replace(values=jnp.where(valid(features.values, features.length), features.values, 0.0))


def counted(values: Array, count: int | Array, clip: Clip) -> Features:
    """Features of a clip, of which `count` frames are valid and the others zero; all, where all of the clip is."""
    return masked(Features(values, None if clip.length is None else jnp.asarray(count, jnp.int32)))


def valid(values: Array, count: int | Array) -> Array:
    """`[frames, 1]` bool: which frames of `values` are among the first `count`."""
    return (jnp.arange(values.shape[0], dtype=jnp.int32) < count)[:, None]
