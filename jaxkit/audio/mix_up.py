"""Pairs of clips, blended."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxkit.audio.extent import silenced
from jaxkit.ranges import interval
from jaxkit.records import Clip

Array = jax.Array


def mix_up(*, alpha: float = 0.4) -> Callable[[Array, Array, Clip], tuple[Clip, Array, Array]]:
    """Blends every clip of a batch with another one (H. Zhang et al., "mixup: Beyond ERM", 2018).

    The one augmentation that is about a batch and not about an example, and so no `Op`. Compile it with `jax.jit`.
    Members are laid in a circle whose order is drawn, and each is blended with the next: nobody with itself, everybody
    once. Draws depend on `(key, id)`, so that the same members in another order give the same pairs and blends.

    Args:
      alpha: the weight of a clip is drawn from Beta(alpha, alpha). Small: mostly one of the two; 1: uniform.

    Returns:
      `f(key, ids, clips) -> (clips, partner, weight)`. `clips` has a leading axis B on every leaf, `ids` is `[B]`
      integer; the result is as long as the longer of two. `partner` `[B]` int32 is a place in the batch, `weight` `[B]`
      float32 the share of the own clip: blend labels as `weight * own + (1 - weight) * own[partner]`.

    Raises:
      ValueError: when built, if `alpha` is not a positive number.
    """
    concentration = interval("alpha", (alpha, alpha), least=1e-3)[0]

    def mixed(key: Array, ids: Array, clips: Clip) -> tuple[Clip, Array, Array]:
        place, weight = jax.vmap(lambda i: _drawn(jax.random.fold_in(key, i), concentration))(ids)
        around = jnp.argsort(place)
        partner = jnp.zeros_like(around).at[around].set(jnp.roll(around, -1))
        clips = jax.vmap(silenced)(clips)
        blended = jax.vmap(_blended)(clips, jax.tree.map(lambda leaf: leaf[partner], clips), weight)
        return blended, partner.astype(jnp.int32), weight

    return mixed


def _drawn(key: Array, alpha: float) -> tuple[Array, Array]:
    keys = jax.random.split(key)
    return jax.random.bits(keys[0], (), jnp.uint32), jax.random.beta(keys[1], alpha, alpha, dtype=jnp.float32)


def _blended(own: Clip, other: Clip, weight: Array) -> Clip:
    parts = (own.wave.astype(jnp.float32), other.wave.astype(jnp.float32))
    wave = (weight * parts[0] + (1.0 - weight) * parts[1]).astype(own.wave.dtype)
    longest = None if own.length is None else jnp.maximum(own.length, other.length)
    return own.replace(wave=wave, length=longest)
