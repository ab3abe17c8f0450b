"""Sound played backwards."""

import jax
import jax.numpy as jnp

from jaxkit.audio.extent import length, silenced
from jaxkit.boundary import in_turn
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
    return in_turn(_played, hit, clip)


def _played(hit: jax.Array, clip: Clip) -> Clip:
    clip = silenced(clip)
    wave, size = clip.wave, clip.wave.shape[0]
    # One slice chooses the direction and leaves the reversed padding out.
    ways = jnp.concatenate([wave[::-1], jnp.zeros_like(wave), wave])
    start = jnp.where(hit, size - length(clip), 2 * size)
    return clip.replace(wave=jax.lax.dynamic_slice(ways, (start,), (size,)))
