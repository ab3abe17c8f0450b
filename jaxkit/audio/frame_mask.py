"""The true extent of padded features."""

import jax
import jax.numpy as jnp

from jaxkit.records import Features

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
    valid = jnp.arange(features.values.shape[0])[:, None] < features.length
    return features.replace(values=jnp.where(valid, features.values, 0.0))
