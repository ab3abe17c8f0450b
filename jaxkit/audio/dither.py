"""Faint noise, so that digital silence has a logarithm."""

import jax
import jax.numpy as jnp

from jaxkit import noise
from jaxkit.audio.extent import inside, silenced
from jaxkit.op import Op
from jaxkit.ranges import number
from jaxkit.records import Clip

Array = jax.Array


def dither(*, amplitude: float = 1.0 / 32768.0) -> Op:
    """Adds normal noise of one deviation to all valid samples, silence included: Kaldi's dither.

    Kaldi draws anew for each frame, here overlapping frames share their samples' noise.

    Args:
      amplitude: standard deviation of the noise, of full scale 1. Kaldi's `--dither=1` is that of 16-bit samples, the
        default here.

    Raises:
      ValueError: when built, if the amplitude is not a non-negative number.
    """
    if number("amplitude", amplitude) < 0:
        raise ValueError(f"amplitude must be at least 0, got {amplitude!r}")

    def draw(key: Array, spec: Clip) -> tuple[Array, Array]:
        return noise.seed(key), jnp.float32(amplitude)

    def apply(params: tuple[Array, Array], clip: Clip) -> Clip:
        seed, level = params
        clip = silenced(clip)
        added = jnp.where(inside(clip), level * noise.exact_normal(seed, clip.wave.shape), 0.0)
        return clip.replace(wave=(clip.wave.astype(jnp.float32) + added).astype(clip.wave.dtype))

    return Op(draw, apply, name="dither", neutral=True)
