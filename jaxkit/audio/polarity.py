"""Loudspeaker wires exchanged."""

import jax
import jax.numpy as jnp

from jaxkit.audio.extent import silenced
from jaxkit.op import Op
from jaxkit.ranges import probability
from jaxkit.records import Clip


def polarity(*, p: float = 0.5) -> Op:
    """Changes the sign of the whole wave with probability `p`: another waveform that sounds the same.

    Params: whether the sign is changed.

    Raises:
      ValueError: when built, if `p` is no probability.
    """
    p = probability("p", p)
    return Op(lambda key, spec: jax.random.bernoulli(key, p), _apply, name="polarity", neutral=True)


def _apply(hit: jax.Array, clip: Clip) -> Clip:
    clip = silenced(clip)
    return clip.replace(wave=jnp.where(hit, -clip.wave, clip.wave))
