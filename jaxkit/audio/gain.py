"""Louder and softer."""

import jax
import jax.numpy as jnp

from jaxkit.audio.extent import silenced
from jaxkit.audio.level import decibels
from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval
from jaxkit.records import Clip

Array = jax.Array


def gain(*, gain_db: tuple[float, float] = (-6.0, 6.0)) -> Op:
    """Multiplies a clip by a factor drawn uniformly in decibels. The result is not clipped to [-1, 1].

    Params: the gain in dB.

    Raises:
      ValueError: when built, if `gain_db` is not a finite (low, high).
    """
    ends = interval("gain_db", gain_db)
    return Op(lambda key, spec: draw_uniform(key, ends), _apply, name="gain", neutral=True)


def _apply(drawn: Array, clip: Clip) -> Clip:
    clip = silenced(clip)
    louder = clip.wave.astype(jnp.float32) * decibels(drawn)
    return clip.replace(wave=louder.astype(clip.wave.dtype))
