"""Designs of recursive filters as cascades of second-order sections, from cut-offs that may be traced.

Every section is the bilinear transform of `(high s^2 + band s + low) / (s^2 + damping s + 1)`, with `s` in units of the
section's frequency, realised with two trapezoidal integrators (V. Zavalishin, "The Art of VA Filter Design", 2012;
A. Simper, "Linear Trapezoidal State Variable Filter", 2013). Unlike in direct forms, nothing cancels at low cut-offs.
The Butterworth designs are those of `scipy.signal.butter`, the others those of R. Bristow-Johnson's "Cookbook formulae
for audio equalizer biquad filter coefficients".

Functions take frequencies in Hz, gains in dB and quality factors as scalars, float32 arrays or float64 of NumPy.
"""

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.state_space import StateSpace, series

Array = Any


class Sections(NamedTuple):
    """Second-order sections, `[n]` each, around a scalar frequency.

    Attributes:
      centre: the tangent of half the angle per sample at the frequency of the design; at its mirror image about a
        quarter of the rate, where it is above that.
      mirrored: bool scalar, whether it is.
      spread: the sections' frequencies in units of the design's.
      damping: the reciprocals of their quality factors.
      high: the numerators' coefficients of `s^2`.
      band: of `s`.
      low: and their constants.
    """

    centre: Array
    mirrored: Array
    spread: Array
    damping: Array
    high: Array
    band: Array
    low: Array


def cascade(sections: Sections) -> StateSpace:
    """The system of all sections in series, with two states each.

    Of mirrored sections it is the system for the wave with every other sample negated, which mirrors the spectrum.
    """
    space, flip = _space(sections.centre), sections.mirrored
    spread = sections.centre * space.where(flip, 1 / sections.spread, sections.spread)
    high, low = (space.where(flip, a, b) for a, b in ((sections.low, sections.high), (sections.high, sections.low)))
    columns = (spread, sections.damping, high, sections.band, low)
    single = [_integrators(*(column[i] for column in columns)) for i in range(spread.shape[0])]
    return functools.reduce(series, single)


def _space(value: Array) -> Any:
    return jnp if isinstance(value, jax.Array) else np


def _integrators(g: Array, k: Array, high: Array, band: Array, low: Array) -> StateSpace:
    stack = _space(g).stack
    first = 1 / (1 + g * (g + k))
    second, third = g * first, g * g * first
    change = stack([stack([-2 * (g + k) * second, -2 * second]), stack([2 * second, -2 * third])])
    # What the high-pass, band-pass and low-pass outputs read of the two states.
    of_band = -high * (g + k) * first + band * first + low * second
    of_low = -high * first - band * second + low * (1 + g * k) * first
    direct = high * first + band * second + low * third
    return StateSpace(change, 2 * stack([second, third]), stack([of_band, of_low]), direct)


def from_sos(sos: np.ndarray) -> Sections:
    """The sections of `[n, 6]` coefficients as SciPy's designs return them, in float64.

    Raises:
      ValueError: if `sos` is not a finite `[n, 6]` with leading denominators other than zero, or a section is not
        stable: float32 cannot hold what grows, and a pole on the unit circle never forgets.
    """
    sos = np.asarray(sos, np.float64)
    if sos.ndim != 2 or sos.shape[0] < 1 or sos.shape[1] != 6 or not np.isfinite(sos).all() or not sos[:, 3].all():
        raise ValueError(f"sos must be finite [sections, 6] with a denominator in columns 3 to 5, got {sos!r}")
    numerators, denominators = (_bilinear(part / sos[:, 3:4]) for part in (sos[:, :3], sos[:, 3:]))
    if not (denominators > 0).all():
        raise ValueError(f"sos must have all poles inside the unit circle, got {sos[(denominators <= 0).any(0)]!r}")
    frequency = np.sqrt(denominators[2] / denominators[0])
    units = np.stack([np.ones_like(frequency), frequency, frequency**2]) * denominators[0]
    damping, numerators = (denominators / units)[1], numerators / units
    return Sections(np.float64(1.0), np.bool_(False), frequency, damping, *numerators)


def _bilinear(coefficients: np.ndarray) -> np.ndarray:
    """`[3, n]` coefficients of `s^2`, `s` and 1, with `z = (1 + s) / (1 - s)`, from `[n, 3]` of 1, `z^-1`, `z^-2`."""
    a, b, c = coefficients.T
    return np.stack([a - b + c, 2 * (a - c), a + b + c])


def warped(frequency: Array, rate: int) -> tuple[Array, Array]:
    """The tangent of half the angle per sample at a frequency in Hz, or at its mirror image; and which it is.

    Frequencies above a quarter of the rate are mirrored, which is exact, and then as precise as low ones.
    """
    space = _space(frequency)
    mirrored = frequency > rate / 4
    near = space.where(mirrored, rate / 2 - frequency, frequency)
    return space.tan(near * (math.pi / rate)), mirrored


def low_pass_sections(cutoff: Array, *, rate: int, order: int) -> Sections:
    """Butterworth, -3 dB at the cut-off."""
    damping, single = _butterworth(order, cutoff)
    none = 0 * damping
    return Sections(*warped(cutoff, rate), none + 1, damping, none, single, none + 1)


def high_pass_sections(cutoff: Array, *, rate: int, order: int) -> Sections:
    """Butterworth, -3 dB at the cut-off."""
    damping, single = _butterworth(order, cutoff)
    none = 0 * damping
    return Sections(*warped(cutoff, rate), none + 1, damping, none + 1, single, none)


def band_pass_sections(centre: Array, q: Array, *, rate: int, order: int) -> Sections:
    """Butterworth: 0 dB at the centre, -3 dB at two edges whose distance, warped, is the warped centre over `q`."""
    spread, damping = _split(q, order)
    none = 0 * spread
    return Sections(*warped(centre, rate), spread, damping, none, 1 / (q * spread), none)


def band_stop_sections(centre: Array, q: Array, *, rate: int, order: int) -> Sections:
    """Butterworth: nothing passes at the centre, -3 dB at the edges, which are those of `band_pass_sections`."""
    spread, damping = _split(q, order)
    none = 0 * spread
    return Sections(*warped(centre, rate), spread, damping, none + 1, none, 1 / (spread * spread))


def peaking_sections(centre: Array, gain_db: Array, q: Array, *, rate: int) -> Sections:
    """The cookbook's peak or dip, with the gain at the centre and none far from it."""
    gain = _root(gain_db)
    one = 0 * gain + 1
    return _single(warped(centre, rate), one, 1 / (gain * q), (one, gain / q, one))


def low_shelf_sections(cutoff: Array, gain_db: Array, q: Array, *, rate: int) -> Sections:
    """The cookbook's shelf with the gain below the cut-off, half of it in dB at the cut-off."""
    gain = _root(gain_db)
    numerator = (0 * gain + 1, gain / q, gain * gain)
    return _single(warped(cutoff, rate), _root(-gain_db / 2), 1 / q, numerator)


def high_shelf_sections(cutoff: Array, gain_db: Array, q: Array, *, rate: int) -> Sections:
    """The cookbook's shelf with the gain above the cut-off, half of it in dB at the cut-off."""
    gain = _root(gain_db)
    numerator = (gain * gain, gain / q, 0 * gain + 1)
    return _single(warped(cutoff, rate), _root(gain_db / 2), 1 / q, numerator)


def _single(centre: tuple[Array, Array], spread: Array, damping: Array, numerator: tuple) -> Sections:
    return Sections(*centre, *(value[None] for value in (spread, damping, *numerator)))


def _root(gain_db: Array) -> Array:
    """The square root of the factor that a gain in dB is."""
    return _space(gain_db).exp(gain_db * (math.log(10) / 40))


def _butterworth(order: int, like: Array) -> tuple[Array, Array]:
    """Dampings of the prototype's sections; and 1 for the one that is a single pole, which is a section of its own.

    A single pole `1 / (s + 1)` is the section `(s + 1) / (s^2 + 2 s + 1)`.
    """
    pairs = 2 * np.sin((2 * np.arange(order // 2)[::-1] + 1) * np.pi / (2 * order))
    damping = np.append(2.0, pairs) if order % 2 else pairs
    single = (np.arange(damping.size) < order % 2).astype(np.float64)
    return _like(like, damping), _like(like, single)


def _split(q: Array, order: int) -> tuple[Array, Array]:
    """Frequencies over the centre, and dampings, of the sections that the prototype's become around a centre.

    P. R. Geffe, "Designers' guide to active bandpass filters", EDN 1974; rearranged, so that nothing cancels.
    """
    space, angles = _space(q), (2 * np.arange(order // 2)[::-1] + 1) * np.pi / (2 * order)
    real, versine, imag = (_like(q, x) for x in (np.sin(angles), 1 - np.sin(angles), np.cos(angles) ** 2))
    narrow = 1 / (q * q)
    roots = space.sqrt(((2 - 1 / q) ** 2 + 4 * versine / q) * (4 + narrow + 4 * real / q))
    beyond = narrow * (16 * imag + narrow + narrow * (16 * imag - 8 + narrow) / (roots + 4)) / (8 * (roots + 4))
    spread = space.sqrt(1 + beyond) + space.sqrt(beyond)
    damping = 2 * real / q / space.sqrt((4 + narrow + roots) / 2)
    # The two sections of a pair follow each other: together they keep the level, one alone does not.
    pair = [space.stack(both, axis=1).reshape(-1) for both in ((spread, 1 / spread), (damping, damping))]
    if order % 2 == 0:
        return pair[0], pair[1]
    one = space.reshape(1 / q, (1,))
    return space.concatenate([0 * one + 1, pair[0]]), space.concatenate([one, pair[1]])


def _like(value: Array, constant: np.ndarray) -> Array:
    return jnp.asarray(constant, value.dtype) if isinstance(value, jax.Array) else constant
