"""Silence before and after the sound, cut away."""

import functools

import jax
import jax.numpy as jnp

from jaxkit.audio.extent import length, silenced
from jaxkit.audio.frame_power import relative_powers
from jaxkit.audio.slide import slid
from jaxkit.boundary import in_turn
from jaxkit.ranges import interval
from jaxkit.records import Clip

Array = jax.Array


def trim(clip: Clip, *, top_db: float = 60.0, width: int = 2048, hop: int = 512) -> Clip:
    """Cuts leading and trailing silence: the sound is moved to the front, and the length says how long it is.

    As `librosa.effects.trim`, with two differences: silence gives a clip of length zero, not all of it, and faint clips
    are cut as loud ones are, where librosa has a floor of 1e-5 below which no frame is silent.

    Args:
      clip: one clip.
      top_db: frames more than this below the loudest frame are silent.
      width: samples in a frame, centred.
      hop: samples from one frame to the next; cuts lie at multiples of it.

    Returns:
      A clip of the same capacity `[T]`, with a length.

    Raises:
      ValueError: if `top_db` is negative, or a frame is shorter than two samples, or the hop than one.
      TypeError: if the wave is not floating.
    """
    return in_turn(functools.partial(_trimmed, top_db=top_db, width=width, hop=hop), clip)


def _trimmed(clip: Clip, *, top_db: float, width: int, hop: int) -> Clip:
    clip = silenced(clip)
    first, last = sounding(clip, top_db=top_db, width=width, hop=hop)
    return silenced(clip.replace(wave=slid(clip.wave, first), length=last - first))


def sounding(clip: Clip, *, top_db: float = 60.0, width: int = 2048, hop: int = 512) -> tuple[Array, Array]:
    """What `trim` keeps: the first sample and the one behind the last, int32; `(0, 0)` for silence.

    Args:
      clip: one clip.
      top_db: frames more than this below the loudest frame are silent.
      width: samples in a frame, centred.
      hop: samples from one frame to the next.

    Raises:
      ValueError: if `top_db` is negative, or a frame is shorter than two samples, or the hop than one.
    """
    interval("top_db", (top_db, top_db), least=0.0)
    if width < 2 or hop < 1:
        raise ValueError(f"trim needs width >= 2 and hop >= 1, got width={width!r} and hop={hop!r}")
    valid = jnp.asarray(length(clip), jnp.int32)
    count = 1 + clip.wave.shape[0] // hop
    at = jnp.arange(count, dtype=jnp.int32)
    power = relative_powers(clip, width=width, hop=hop, before=width // 2, count=count)
    power = jnp.where(at <= valid // hop, power, 0.0)
    loud = power > jnp.max(power) * jnp.float32(10.0 ** (-top_db / 10.0))
    first = jnp.min(jnp.where(loud, at, count)) * hop
    last = jnp.minimum(jnp.max(jnp.where(loud, at + 1, 0)) * hop, valid)
    return jnp.where(last > 0, first, 0), last
