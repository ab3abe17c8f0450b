"""The phase vocoder: a clip made longer or shorter at its own pitch."""

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
from jaxkit.audio.positions import Positions, uniform
from jaxkit.audio.windows import window
from jaxkit.boundary import in_turn
from jaxkit.ranges import interval
from jaxkit.records import Clip

Array = jax.Array
OVERLAP = 4
# Fainter than this a bin has no phase worth keeping: -200 dB of one sample's full scale.
FAINTEST = 1e-10
NEAR = 3


class Spectra(NamedTuple):
    """Frames `[N, bins]` in polar form.

    Attributes:
      size: magnitudes.
      along: cosine of the phase.
      across: its sine.
      peak: how many bins away the nearest peak of the spectrum is, 0 where there is none near.
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

    def change(wave: Array, factor: Array, new: Array) -> Array:
        made = _stretched(wave.astype(jnp.float32), factor, size, n_fft)
        return jnp.where(jnp.arange(size) < new, made, 0.0).astype(wave.dtype)

    return clip.replace(wave=in_turn(change, clip.wave, factor, new), length=new)


def _stretched(wave: Array, factor: Array, samples: int, n_fft: int) -> Array:
    hop = n_fft // OVERLAP
    weights = window("hann", n_fft).astype(np.float32)
    count, rows = -(-wave.shape[0] // hop) + OVERLAP, -(-samples // hop) + OVERLAP // 2
    parts = frames(jnp.pad(wave, (n_fft // 2, 0)), width=n_fft, hop=hop, count=count) * weights[None]
    made = frames_of_spectrum(*_turned(*spectrum(parts, n_fft), uniform(rows, factor)), n_fft) * weights[None]
    total = overlap_add(made, hop=hop)[n_fft // 2 :][:samples]
    share = np.convolve(np.bincount(np.arange(rows) * hop), weights.astype(np.float64) ** 2)[n_fft // 2 :][:samples]
    return total * (1.0 / share).astype(np.float32)


def _turned(real: Array, imag: Array, places: Positions) -> tuple[Array, Array]:
    """The frames `[rows, bins]` at places between frames, real and imaginary parts."""
    spectra, last = _in_polar_form(real, imag), real.shape[0] - 2

    def step(carried, place):
        turn, ahead = carried
        row, share = jnp.minimum(place.whole, last), place.part
        size = spectra.size[row] * (1.0 - share) + spectra.size[row + 1] * share
        here, after = ((spectra.along[at], spectra.across[at]) for at in (row, row + 1))
        # The phase goes on from the last frame as it did in the clip: by how much does it differ from the clip's here?
        turn = _product(_product(turn, ahead), (here[0], -here[1]))
        turn = _unit(tuple(_at_peak(part, spectra.peak[row]) for part in turn))
        made = _product(turn, here)
        return (turn, after), (size * made[0], size * made[1])

    first = (spectra.along[0], spectra.across[0])
    none = (jnp.ones_like(first[0]), jnp.zeros_like(first[0]))
    return jax.lax.scan(step, (none, first), places)[1]


def _in_polar_form(real: Array, imag: Array) -> Spectra:
    """Where there is hardly any sound, phases are 0."""
    square = real * real + imag * imag
    heard = square > FAINTEST**2
    scale = jax.lax.rsqrt(jnp.where(heard, square, 1.0))
    along, across = jnp.where(heard, real * scale, 1.0), jnp.where(heard, imag * scale, 0.0)
    return Spectra(real * along + imag * across, along, across, _nearest_peak(square))


def _nearest_peak(square: Array) -> Array:
    """`[N, bins]` int8: the distance to the nearest peak within `NEAR` bins."""
    neighbours = [_shifted(square, step) for step in (-2, -1, 1, 2)]
    peak = jnp.stack([square >= other for other in neighbours]).all(0)
    distance = jnp.zeros(square.shape, jnp.int8)
    for step in sorted((step for step in range(-NEAR, NEAR + 1)), key=abs, reverse=True):
        distance = jnp.where(_shifted(peak, step), jnp.int8(step), distance)
    return distance


def _at_peak(values: Array, distance: Array) -> Array:
    """`values[k + distance[k]]`: few distances, so a choice costs less than a gather."""
    made = values
    for step in range(-NEAR, NEAR + 1):
        made = jnp.where(distance == step, _shifted(values, step), made) if step else made
    return made


def _shifted(values: Array, step: int) -> Array:
    """`values[..., k + step]`, zero where there is no such bin."""
    beyond = jnp.zeros((*values.shape[:-1], abs(step)), values.dtype)
    inner = values[..., max(step, 0) : values.shape[-1] + min(step, 0)]
    return jnp.concatenate([inner, beyond] if step > 0 else [beyond, inner], -1)


def _product(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _unit(value: tuple[Array, Array]) -> tuple[Array, Array]:
    """A number of size nearly one, brought nearer, so that roundings do not add up over the frames."""
    scale = 1.5 - 0.5 * (value[0] * value[0] + value[1] * value[1])
    return value[0] * scale, value[1] * scale
