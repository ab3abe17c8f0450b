"""The true extent of a padded clip: what every function of sound asks first."""

import jax
import jax.numpy as jnp

from jaxkit.records import Clip

Array = jax.Array


def length(clip: Clip) -> Array | int:
    """How many leading samples are valid: a static int where all are, else an int32 scalar."""
    return clip.wave.shape[0] if clip.length is None else clip.length


def inside(clip: Clip) -> Array:
    """`[T]` bool: which samples are valid."""
    return jnp.arange(clip.wave.shape[0]) < length(clip)


def silenced(clip: Clip) -> Clip:
    """The clip with zeros beyond its length, whatever was there (also NaN).

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if the wave is not `[T]`.
    """
    check(clip)
    return clip if clip.length is None else clip.replace(wave=jnp.where(inside(clip), clip.wave, 0.0))


def check(clip: Clip, *, rate: int | None = None) -> None:
    """Refuses what is no clip of sound.

    Args:
      clip: one clip.
      rate: the only sample rate in Hz that is taken. None: any.

    Raises:
      TypeError: if the wave is not floating: integers have to be divided by their full scale first.
      ValueError: if the wave is not `[T]`, or has another rate than `rate`.
    """
    if not jnp.issubdtype(clip.wave.dtype, jnp.floating):
        raise TypeError(f"a wave is float32 in [-1, 1], got {clip.wave.dtype}; divide int16 by 32768")
    if len(clip.wave.shape) != 1:
        raise ValueError(f"a clip is one channel [T], got a wave of shape {clip.wave.shape}; use jax.vmap for a batch")
    if rate is not None and clip.rate != rate:
        raise ValueError(f"this takes {rate} Hz, the clip has {clip.rate} Hz; resample it first")
