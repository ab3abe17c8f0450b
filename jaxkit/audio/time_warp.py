"""Warping features along time."""

import jax
import jax.numpy as jnp

from jaxkit.audio.frame_mask import frame_length, masked
from jaxkit.op import Op
from jaxkit.ranges import number
from jaxkit.records import Features

Array = jax.Array


def time_warp(*, frames: float = 80.0) -> Op:
    """Moves one random frame by up to `frames`, and stretches what lies before and after it: the warp of SpecAugment.

    The frame is uniform over those that are `frames` or more from either end of the valid part, and the way is
    uniform between `frames` earlier and later (`W` of Park et al. 2019: 80 for LibriSpeech, 40 for Switchboard). In
    shorter clips, it moves by less than half of the clip. The ends stay; between frames is read linearly.

    Args:
      frames: the longest way.

    Raises:
      ValueError: when built, if `frames` is not a non-negative number.
    """
    if number("frames", frames) < 0:
        raise ValueError(f"frames must be at least 0, got {frames!r}")

    def draw(key: Array, spec: Features) -> tuple[Array, Array]:
        place, way = jax.random.split(key)
        return jax.random.uniform(place), jax.random.uniform(way, minval=-frames, maxval=frames)

    def apply(params: tuple[Array, Array], features: Features) -> Features:
        if features.values.shape[0] == 0:
            return masked(features)
        return masked(features.replace(values=_warped(masked(features), *params, float(frames))))

    return Op(draw, apply, name="time_warp", neutral=True)


def _warped(features: Features, place: Array, way: Array, most: float) -> Array:
    values = features.values
    last = jnp.maximum(frame_length(features) - 1, 0).astype(jnp.float32)
    reach = jnp.minimum(most, 0.5 * last)
    way = way * (reach / max(most, 1e-6))
    source = reach + place * (last - 2.0 * reach)
    target = source + way
    times = jnp.arange(values.shape[0], dtype=jnp.float32)
    before, after = times / jnp.maximum(target, 1e-6), (last - times) / jnp.maximum(last - target, 1e-6)
    # How far a frame is read from its own place; zero where nothing moves, whatever the rounding.
    shift = -way * jnp.clip(jnp.minimum(before, after), 0.0, 1.0)
    return _read(values, shift, last.astype(jnp.int32))


def _read(values: Array, shift: Array, last: Array) -> Array:
    whole = jnp.floor(shift)
    part = (shift - whole).astype(values.dtype)[:, None]
    first = jnp.arange(values.shape[0]) + whole.astype(jnp.int32)
    early, late = (values[jnp.clip(first + step, 0, last)] for step in (0, 1))
    return early + (late - early) * part
