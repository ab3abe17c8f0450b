"""Powers in decibels."""

import functools
import math

import jax
import jax.numpy as jnp

from jaxkit.audio.frame_mask import valid
from jaxkit.boundary import in_turn
from jaxkit.ranges import number
from jaxkit.records import Features

Array = jax.Array
DECIBELS = 10.0 / math.log(10.0)


def power_to_db(
    features: Features, *, ref: float | str = 1.0, amin: float = 1e-10, top_db: float | None = 80.0
) -> Features:
    """Powers in decibels, as `librosa.power_to_db` computes them; the largest is that of the clip, never of a batch.

    Args:
      features: powers, `[frames, bins]`.
      ref: the power of 0 dB. `max`: the largest of the clip.
      amin: least power; what is less counts as this.
      top_db: values further than this below the largest are raised to that. None: they stay.

    Returns:
      `[frames, bins]`; frames beyond the length are zero.

    Raises:
      ValueError: if a setting is not a positive number.
    """
    for name, value in (("amin", amin), ("ref", 1.0 if ref == "max" else ref), ("top_db", top_db or 1.0)):
        if number(name, value) <= 0:
            raise ValueError(f"{name} must be positive, got {value!r}")
    return in_turn(functools.partial(_power_to_db, ref=ref, amin=amin, top_db=top_db), features)


def _power_to_db(features: Features, *, ref: float | str, amin: float, top_db: float | None) -> Features:
    values = jnp.maximum(features.values, amin)
    inside = True if features.length is None else valid(values, features.length)
    most = jnp.max(jnp.where(inside, values, amin), initial=amin)
    zero = jnp.log(most) if ref == "max" else math.log(max(amin, ref))
    decibels = DECIBELS * (jnp.log(values) - zero)
    if top_db is not None:
        decibels = jnp.maximum(decibels, DECIBELS * (jnp.log(most) - zero) - top_db)
    return features.replace(values=decibels if inside is True else jnp.where(inside, decibels, 0))
