"""Sound that begins earlier or later."""

import jax
import jax.numpy as jnp

from jaxkit.audio.extent import inside, length, silenced
from jaxkit.audio.slide import slid
from jaxkit.boundary import in_turn
from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, flag, interval
from jaxkit.records import Clip

Array = jax.Array
DEFAULT_SECONDS = (-0.5, 0.5)


def shift(
    *, seconds: tuple[float, float] | None = None, fraction: tuple[float, float] | None = None, wrap: bool = False
) -> Op:
    """Moves the sound within a clip, whose length stays; a positive shift makes it later.

    What moves beyond an end is lost and zeros take its place, or, with `wrap`, it enters at the other end of the valid
    samples. Shifts are whole samples, rounded to nearest.

    Params: the shift, in seconds or as a fraction of the clip's length.

    Args:
      seconds: the ends of the uniform draw in seconds; (-0.5, 0.5) if `fraction` is not given either.
      fraction: its ends as fractions of the clip's length.
      wrap: whether the clip is a circle.

    Raises:
      ValueError: when built, if both ranges are given, or one is not a finite (low, high); or `wrap` is no bool.
    """
    if seconds is not None and fraction is not None:
        raise ValueError(f"shift takes seconds or fraction, got both: {seconds!r} and {fraction!r}")
    relative, wrap = fraction is not None, flag("wrap", wrap)
    ends = interval("fraction", fraction) if relative else interval("seconds", seconds or DEFAULT_SECONDS)

    def apply(drawn: Array, clip: Clip) -> Clip:
        clip = silenced(clip)
        unit = jnp.asarray(length(clip), jnp.float32) if relative else jnp.float32(clip.rate)
        steps = jnp.round(drawn * unit).astype(jnp.int32)
        return in_turn(_turned, clip, steps) if wrap else _moved(clip, steps)

    return Op(lambda key, spec: draw_uniform(key, ends), apply, name="shift", neutral=True)


def _moved(clip: Clip, steps: Array) -> Clip:
    return silenced(clip.replace(wave=slid(clip.wave, -steps)))


def _turned(clip: Clip, steps: Array) -> Clip:
    valid = jnp.maximum(jnp.asarray(length(clip), jnp.int32), 1)
    steps = steps % valid
    later, entering = slid(clip.wave, -steps), slid(clip.wave, valid - steps)
    around = jnp.where(jnp.arange(clip.wave.shape[0]) < steps, entering, later)
    return clip.replace(wave=jnp.where(inside(clip), around, jnp.zeros_like(around)))
