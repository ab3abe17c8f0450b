"""How loud a clip is from frame to frame."""

import math

import jax
import jax.numpy as jnp

from jaxkit.audio.extent import silenced
from jaxkit.audio.frames import frames
from jaxkit.records import Clip

Array = jax.Array
SMALLEST = float(jnp.finfo(jnp.float32).tiny)


def relative_powers(clip: Clip, *, width: int, hop: int, before: int, count: int) -> Array:
    """The mean square of every frame, of the clip at a peak of one; so faint and loud clips give the same.

    Args:
      clip: one clip.
      width: samples in a frame.
      hop: samples from one frame to the next.
      before: zeros that are put before the clip; where frames reach beyond its end they hold zeros, too.
      count: how many frames.

    Returns:
      `[count]` float32; all zero for silence.
    """
    wave = silenced(clip).wave.astype(jnp.float32)
    peak = jnp.max(jnp.abs(wave), initial=0.0)
    square = jnp.square(wave / jnp.where(peak >= SMALLEST, peak, 1.0))
    # Sums of the largest blocks that frames are made of, once; then of few blocks.
    block = math.gcd(width, hop)
    size = max(before + wave.shape[0], (count - 1) * hop + width)
    size = -(-size // block) * block
    padded = jnp.pad(square, (before, size - before - wave.shape[0]))
    sums = padded.reshape(-1, block).sum(1)
    return frames(sums, width=width // block, hop=hop // block, count=count).sum(1) / width
