"""Sound played backwards."""

import jax
import jax.numpy as jnp

from jaxkit.audio.extent import length, silenced
from jaxkit.audio.slide import slid
from jaxkit.op import Op
from jaxkit.ranges import probability
from jaxkit.records import Clip


def reverse(*, p: float = 0.5) -> Op:
    """Plays the valid samples backwards with probability `p`; the padding stays behind them.

    Params: whether the clip is reversed.

    Raises:
      ValueError: when built, if `p` is no probability.
    """
    p = probability("p", p)
    return Op(lambda key, spec: jax.random.bernoulli(key, p), _apply, name="reverse", neutral=True)


def _apply(hit: jax.Array, clip: Clip) -> Clip:
    clip = silenced(clip)
    backwards = clip.wave[::-1]
    if clip.length is not None:
        backwards = slid(backwards, clip.wave.shape[0] - length(clip))
    return clip.replace(wave=jnp.where(hit, backwards, clip.wave))
