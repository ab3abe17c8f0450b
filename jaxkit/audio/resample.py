"""Change of the sample rate by a fixed ratio."""

from collections.abc import Callable
from fractions import Fraction

import jax
import jax.numpy as jnp

from jaxkit.audio.band_limit import REACH, pass_band
from jaxkit.audio.extent import check, silenced
from jaxkit.audio.fft_blocks import blocks, frequencies, refitted
from jaxkit.audio.lengths import output_length
from jaxkit.audio.positions import rational
from jaxkit.audio.read import OVERSAMPLING, read_at
from jaxkit.boundary import in_turn
from jaxkit.records import Clip

Array = jax.Array
LARGEST_TERM = 2048
MOST = 512


def resample(clip: Clip, rate: int, *, mode: str = "ceil") -> Clip:
    """The same sound at another sample rate.

    Linear phase without delay. The pass band is flat to 0.913 of the slower rate's Nyquist frequency; what lies beyond
    1.0 of it is at least 120 dB down, aliases and images too: the class of soxr's HQ. Where the ratio of the rates is
    one of small integers (44100 to 16000), blocks of the wave change their rate in the frequency domain; where it is
    not (16001 to 16000), the wave is read between its samples, at positions that are exact. Sound begins and ends in
    silence. Memory is a few times that of the wave, whatever the rates.

    Args:
      clip: one clip.
      rate: the new sample rate in Hz.
      mode: how the length is rounded, see `output_length`.

    Returns:
      A clip `[output_length(T)]` of that rate. The same clip where it has that rate already.

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if the wave is not `[T]`, or a rate is no positive integer below 2**22, or the rates differ by more
        than a factor of 512.
    """
    samples = output_length(clip.wave.shape[0], clip.rate, rate, mode=mode)
    ratio = Fraction(rate, clip.rate)
    if not 1 / MOST <= ratio <= MOST:
        raise ValueError(f"rates may differ by a factor of {MOST}, got {clip.rate} and {rate} Hz; go by way of another")
    if ratio == 1:
        return silenced(clip)
    made = _change(clip, ratio, samples)
    if clip.length is None:
        return Clip(made, None, rate)
    length = output_length(clip.length, clip.rate, rate, mode=mode)
    return Clip(jnp.where(jnp.arange(samples) < length, made, 0.0), length, rate)


def _change(clip: Clip, ratio: Fraction, samples: int) -> Array:
    check(clip)
    if max(ratio.numerator, ratio.denominator) > LARGEST_TERM:
        places = lambda _: rational(samples, OVERSAMPLING / ratio)  # noqa: E731
        return in_turn(_cast(lambda wave: read_at(wave, jnp.float32(1 / ratio), places, most=1 / ratio)), clip)
    plan = blocks(ratio, REACH * max(1 / ratio, Fraction(1)))
    weights = pass_band(jnp.asarray(frequencies(plan)))
    rows = in_turn(_cast(lambda wave: refitted(wave, weights, plan)), clip)
    return jax.lax.slice(rows.reshape(-1), (plan.margin[1],), (plan.margin[1] + samples,))


def _cast(function: Callable[[Array], Array]) -> Callable[[Clip], Array]:
    """`function` of a float32 wave as one of a clip, silent beyond its length: part of the loop over clips."""
    return lambda clip: function(silenced(clip).wave.astype(jnp.float32)).astype(clip.wave.dtype)
