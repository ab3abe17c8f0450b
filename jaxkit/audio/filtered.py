"""Clips through recursive filters."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.extent import check, silenced
from jaxkit.audio.sections import Sections, cascade, from_sos
from jaxkit.audio.state_space import through
from jaxkit.boundary import in_turn
from jaxkit.records import Clip


def sosfilt(clip: Clip, sos: np.ndarray) -> Clip:
    """A clip through a cascade of second-order sections, as `scipy.signal.sosfilt` has it, from rest.

    Args:
      clip: one clip.
      sos: `[sections, 6]` coefficients as SciPy's designs return them (`output="sos"`); values, not traced.

    Returns:
      The clip, of the same length; not clipped to [-1, 1].

    Raises:
      ValueError: if `sos` is not finite `[sections, 6]`, or not stable.
    """
    system = cascade(from_sos(sos))
    return on_wave(lambda wave: through(system, wave), clip)


def through_sections(design: Callable[..., Sections], params: Any, clip: Clip) -> Clip:
    """A clip through the sections that `design(*params)` makes of traced params, from rest."""

    def filtered(wave: jax.Array, *values: jax.Array) -> jax.Array:
        sections = design(*values)
        signs = jnp.where(sections.mirrored & (jnp.arange(wave.shape[0]) % 2 == 1), -1.0, 1.0)
        return signs * through(cascade(sections), signs * wave)

    return on_wave(filtered, clip, *(jnp.asarray(value, jnp.float32) for value in params))


def on_wave(function: Callable[..., jax.Array], clip: Clip, *params: jax.Array) -> Clip:
    """The clip with `function(wave, *params)`, computed in float32, as its wave; silent beyond its length."""
    check(clip)
    return in_turn(lambda clip, *params: _on_wave(function, clip, *params), clip, *params)


def _on_wave(function: Callable[..., jax.Array], clip: Clip, *params: jax.Array) -> Clip:
    clip = silenced(clip)
    wave = function(clip.wave.astype(jnp.float32), *params)
    return silenced(clip.replace(wave=wave.astype(clip.wave.dtype)))
