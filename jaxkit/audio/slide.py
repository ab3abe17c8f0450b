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
    size = wave.shape[0]
    if size == 0:
        return wave
    # One copy of a slice: a gather of single samples is many times slower on a CPU.
    around = jax.lax.dynamic_slice(jnp.concatenate([wave, wave]), (start % size,), (size,))
    places = jnp.arange(size) + jnp.clip(start, -size, size)
    return jnp.where((places >= 0) & (places < size), around, jnp.zeros_like(around))
