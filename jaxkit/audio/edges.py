"""What a frame sees beyond the ends of a clip: padding that knows where a padded clip truly ends."""

import jax
import jax.numpy as jnp

from jaxkit.audio.extent import length, silenced
from jaxkit.ranges import one_of_names
from jaxkit.records import Clip

Array = jax.Array
MODES = ("reflect", "constant", "edge")
SYMMETRIC = "symmetric"


def with_edges(clip: Clip, *, before: int, after: int, mode: str = "reflect") -> Array:
    """The wave with more samples on both sides of its valid part.

    Args:
      clip: one clip.
      before: how many samples to set before the first.
      after: how many samples to set after the last valid one.
      mode: `reflect` mirrors without repeating the edge, as often as it takes (`numpy.pad`); `constant` is silence;
        `edge` repeats the outermost sample; `symmetric` mirrors with the edge repeated, as Kaldi does.

    Returns:
      `[before + T + after]`, silent after the new samples.

    Raises:
      ValueError: if there is no such mode.
    """
    mode = one_of_names("pad_mode", mode, (*MODES, SYMMETRIC))
    clip = silenced(clip)
    wave, end = clip.wave, length(clip)
    if mode == "constant" or wave.shape[0] == 0:
        return jnp.pad(wave, (before, after))
    first = _read(wave, -before, before, end, mode)
    last = _read(wave, end, after, end, mode)
    # Written into memory even where the end is static: a plain concatenation is computed again by each of the slices
    # that frames are made of, which costs a log-mel spectrogram a third more.
    wider = jnp.concatenate([first, wave, jnp.zeros_like(last)])
    return jax.lax.dynamic_update_slice(wider, last, (before + end,))


def _read(wave: Array, start: int | Array, count: int, end: int | Array, mode: str) -> Array:
    """The valid samples that are seen at `count` places from `start`."""
    places = start + jnp.arange(count, dtype=jnp.int32)
    if mode == "edge":
        places = jnp.clip(places, 0, jnp.maximum(end - 1, 0))
    else:
        repeated = int(mode == SYMMETRIC)
        period = jnp.maximum(2 * (end - 1 + repeated), 1)
        folded = places % period
        places = jnp.minimum(folded, period - repeated - folded)
    # An empty clip in a padded wave has its first, silent sample read.
    return wave.at[jnp.where(end > 1, places, 0)].get(mode="promise_in_bounds")
