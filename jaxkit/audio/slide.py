"""A wave read from another place, which may differ for each member of a batch."""

import jax
import jax.numpy as jnp

from jaxkit.boundary import in_turn

Array = jax.Array


def slid(wave: Array, start: Array | int) -> Array:
    """`out[i] = wave[i + start]`, and zero where there is no such sample.

    Args:
      wave: `[T]`.
      start: int32 scalar of any sign.

    Returns:
      `[T]` of the wave's dtype.
    """
    return in_turn(_slid, wave, jnp.asarray(start, jnp.int32))


def _slid(wave: Array, start: Array) -> Array:
    size, zeros = wave.shape[0], jnp.zeros_like(wave)
    # One slice of three copies: a gather of single samples, and masks, are many times slower on a CPU.
    around = jnp.concatenate([zeros, wave, zeros])
    return jax.lax.dynamic_slice(around, (size + jnp.clip(start, -size, size),), (size,))
