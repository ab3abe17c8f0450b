"""The phase vocoder: a clip made longer or shorter at its own pitch."""

import functools
import math
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.dft import frames_of_spectrum, spectrum
from jaxkit.audio.dynamic import LEAST, MOST, length_by
from jaxkit.audio.extent import length, silenced
from jaxkit.audio.frames import frames, overlap_add
from jaxkit.audio.positions import uniform
from jaxkit.audio.windows import window
from jaxkit.boundary import apart, in_turn
from jaxkit.ranges import interval
from jaxkit.records import Clip

Array = jax.Array
Complex = tuple[Array, Array]
OVERLAP = 4
# Fainter than this a bin has no phase worth keeping: -200 dB of one sample's full scale.
FAINTEST = 1e-10
NEAR = 3


class Read(NamedTuple):
    """Frames `[rows, bins]` of the result, but for a turn of their phases.

    Attributes:
      value: real and imaginary parts.
      change: how the turn differs from the last frame's, as cosine and sine.
      peak: see `Spectra`.
    """

    value: Complex
    change: Complex
    peak: Array


class Spectra(NamedTuple):
    """Frames `[N, bins]` in polar form.

    Attributes:
      size: magnitudes.
      along: cosine of the phase.
      across: its sine.
      peak: the bin of the nearest peak of the spectrum; the bin itself where there is none near.
    """

    size: Array
    along: Array
    across: Array
    peak: Array


def stretch_by(
    clip: Clip,
    factor: Array,
    *,
    factors: tuple[float, float] = (0.5, 2.0),
    capacity: int | None = None,
    n_fft: int = 1024,
) -> Clip:
    """Plays a clip `factor` times as fast at its own pitch.

    The phase vocoder with phases locked to peaks (J. Laroche and M. Dolson, "Improved phase vocoder time-scale
    modification of audio", 1999): frames of the result, a quarter of a window apart, take their magnitudes from between
    the frames of the clip; at the peaks of the spectrum phases turn as they do in the clip, and the bins around a peak
    keep their phases relative to it. Hann windows; frames are centred, and there is silence around the clip. A factor
    of 1 gives the clip but for rounding. The factor is a value: one program serves all.

    Args:
      clip: one clip.
      factor: float32 scalar within `factors`.
      factors: (low, high) of all factors to come.
      capacity: the size of the result. None: what the lowest factor needs.
      n_fft: samples in a frame; 64 ms at 16 kHz suit speech.

    Returns:
      A clip `[capacity]` whose length is that of the clip divided by the factor, rounded half up.

    Raises:
      ValueError: if the wave is not `[T]`, the factors are no (low, high) within [1/64, 64], or `n_fft` is no multiple
        of 8.
      TypeError: if the wave is not floating.
    """
    clip = silenced(clip)
    low, _ = interval("factors", factors, least=LEAST, most=MOST)
    if type(n_fft) is not int or n_fft < 8 or n_fft % 8:
        raise ValueError(f"n_fft must be a positive multiple of 8, got {n_fft!r}")
    size = math.ceil(clip.wave.shape[0] / Fraction(low)) if capacity is None else capacity
    factor = jnp.asarray(factor, jnp.float32)
    new = jnp.minimum(length_by(length(clip), factor), size)

    change = functools.partial(_stretched, samples=size, n_fft=n_fft)
    return clip.replace(wave=in_turn(change, clip.wave, factor, new).astype(clip.wave.dtype), length=new)


def _stretched(wave: Array, factor: Array, length: Array, *, samples: int, n_fft: int) -> Array:
    read = _read_frames(wave, factor, samples=samples, n_fft=n_fft)
    made = _written(read, _summed(read.change, read.peak), samples=samples, n_fft=n_fft)
    return jnp.where(jnp.arange(samples) < length, made, 0.0)


def _read_frames(wave: Array, factor: Array, *, samples: int, n_fft: int) -> Read:
    hop, weights = n_fft // OVERLAP, window("hann", n_fft).astype(np.float32)
    count, rows = -(-wave.shape[0] // hop) + OVERLAP, -(-samples // hop) + OVERLAP // 2
    centred = jnp.pad(wave.astype(jnp.float32), (n_fft // 2, 0))
    spectra = _in_polar_form(*spectrum(frames(centred, width=n_fft, hop=hop, count=count) * weights[None], n_fft))
    places = uniform(rows, factor)
    row, share = jnp.minimum(places.whole, count - 2), places.part[:, None]
    here = (spectra.along[row], spectra.across[row])
    ahead = jnp.concatenate([jnp.zeros_like(row[:1]), row[:-1] + 1])
    # The phase goes on from the last frame as it did in the clip: by how much does it differ from the clip's here?
    change = _product((spectra.along[ahead], spectra.across[ahead]), (here[0], -here[1]))
    size = spectra.size[row] * (1.0 - share) + spectra.size[row + 1] * share
    return Read((size * here[0], size * here[1]), change, spectra.peak[row])


def _summed(change: Complex, peak: Array) -> Complex:
    """The product of all changes so far, `[rows, bins]`, each bin going on from where its peak was."""

    def step(turn, given):
        change, peak = given
        near = lambda values: values.at[peak].get(mode="promise_in_bounds")  # noqa: E731
        turn = _unit(_product(tuple(map(near, turn)), tuple(map(near, change))))
        return turn, turn

    none = (jnp.ones_like(change[0][0]), jnp.zeros_like(change[0][0]))
    return jax.lax.scan(step, none, (change, peak))[1]


def _written(read: Read, turn: Complex, *, samples: int, n_fft: int) -> Array:
    hop, weights = n_fft // OVERLAP, window("hann", n_fft)
    made = frames_of_spectrum(*_product(read.value, turn), n_fft) * weights.astype(np.float32)[None]
    total = overlap_add(made, hop=hop)[n_fft // 2 :][:samples]
    share = np.convolve(np.bincount(np.arange(len(made)) * hop), weights**2)[n_fft // 2 :][:samples]
    return total * (1.0 / share).astype(np.float32)


def _in_polar_form(real: Array, imag: Array) -> Spectra:
    """Where there is hardly any sound, phases are 0."""
    square = real * real + imag * imag
    heard = square > FAINTEST**2
    scale = jax.lax.rsqrt(jnp.where(heard, square, 1.0))
    along, across = jnp.where(heard, real * scale, 1.0), jnp.where(heard, imag * scale, 0.0)
    return Spectra(real * along + imag * across, along, across, _nearest_peak(square))


def _nearest_peak(square: Array) -> Array:
    """`[N, bins]` int32: the nearest peak within `NEAR` bins; where there is none, the bin itself."""
    padded = jnp.pad(apart(_peaks, square), ((0, 0), (NEAR, NEAR)))
    return apart(functools.partial(_nearest, bins=square.shape[-1]), padded)


def _peaks(square: Array) -> Array:
    """`[N, bins]` int32: 1 where no neighbour within 2 bins is larger."""
    bins = square.shape[-1]
    padded = jnp.pad(square, ((0, 0), (2, 2)))
    largest = functools.reduce(jnp.maximum, [padded[:, step : step + bins] for step in range(5)])
    return (square >= largest).astype(jnp.int32)


def _nearest(peaks: Array, *, bins: int) -> Array:
    distance = jnp.zeros((peaks.shape[0], bins), jnp.int32)
    for step in sorted(range(-NEAR, NEAR + 1), key=abs, reverse=True):
        distance = jnp.where(peaks[:, NEAR + step : NEAR + step + bins] > 0, step, distance)
    return distance + jnp.arange(bins)[None]


def _product(a: Complex, b: Complex) -> Complex:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _unit(value: Complex) -> Complex:
    """A number of size nearly one, brought nearer, so that roundings do not add up over the frames."""
    scale = 1.5 - 0.5 * (value[0] * value[0] + value[1] * value[1])
    return value[0] * scale, value[1] * scale
