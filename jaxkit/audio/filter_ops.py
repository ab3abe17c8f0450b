"""Random filters: every example with its own cut-off, gain and quality factor, all in one program.

Frequencies and quality factors are drawn uniformly in their logarithms, gains uniformly in dB. The filters are the
recursive ones of `jaxkit.audio.sections`, from rest; they delay what they pass, and the length stays. Within 1e-5 of
the largest output from `scipy.signal.sosfilt` in float64, from 20 Hz to 0.45 of the rate, for orders from 1 to 8 and
quality factors up to 30; only where the order of a band-pass times `q` is over 50 it is 5e-5, since float32 cannot say
more about such narrow bands.
"""

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxkit.audio import sections
from jaxkit.audio.filtered import through_sections
from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval, one_of_names
from jaxkit.records import Clip

Array = jax.Array
Ends = tuple[float, float]
LOWEST_HZ = 1.0
LEAST_Q, MOST_Q = 0.05, 1000.0
MOST_ORDER = 8
MOST_GAIN_DB = 60.0
SHELVES = {"low": sections.low_shelf_sections, "high": sections.high_shelf_sections}


def low_pass(*, cutoff: Ends = (500.0, 3500.0), order: int = 4) -> Op:
    """Butterworth low-pass: -3 dB at the cut-off, `6 * order` dB less per octave above it.

    Params: the cut-off in Hz.

    Args:
      cutoff: ends of its draw in Hz.
      order: from 1 to 8.

    Raises:
      ValueError: when built, if a range is not a positive (low, high), or the order is not an int from 1 to 8; when
        traced, if a cut-off is not below half the rate of the clip.
    """
    design = functools.partial(sections.low_pass_sections, order=_order(order))
    return _op("low_pass", design, {"cutoff": _hertz("cutoff", cutoff)})


def high_pass(*, cutoff: Ends = (50.0, 1000.0), order: int = 4) -> Op:
    """Butterworth high-pass: -3 dB at the cut-off, `6 * order` dB less per octave below it.

    Params: the cut-off in Hz.

    Args:
      cutoff: ends of its draw in Hz.
      order: from 1 to 8.

    Raises:
      ValueError: as in `low_pass`.
    """
    design = functools.partial(sections.high_pass_sections, order=_order(order))
    return _op("high_pass", design, {"cutoff": _hertz("cutoff", cutoff)})


def band_pass(*, centre: Ends = (300.0, 3000.0), q: Ends = (0.5, 2.0), order: int = 2) -> Op:
    """Butterworth band-pass: 0 dB at the centre, -3 dB at two edges.

    `q` is the centre over the width of the band, of the analogue prototype: near half the rate, where the bilinear
    transform squeezes frequencies, bands are narrower. With order 1 it is the cookbook's band-pass of that `q`.

    Params: `(centre in Hz, q)`.

    Args:
      centre: ends of its draw in Hz.
      q: ends of the draw of the quality factor.
      order: from 1 to 8; `6 * order` dB less per octave on either side.

    Raises:
      ValueError: as in `low_pass`.
    """
    design = functools.partial(sections.band_pass_sections, order=_order(order))
    return _op("band_pass", design, {"centre": _hertz("centre", centre), "q": _quality(q)})


def band_stop(*, centre: Ends = (300.0, 3000.0), q: Ends = (0.5, 10.0), order: int = 2) -> Op:
    """Butterworth band-stop: nothing passes at the centre, -3 dB at two edges, which are those of `band_pass`.

    Params: `(centre in Hz, q)`.

    Args:
      centre: ends of its draw in Hz.
      q: ends of the draw of the quality factor.
      order: from 1 to 8.

    Raises:
      ValueError: as in `low_pass`.
    """
    design = functools.partial(sections.band_stop_sections, order=_order(order))
    return _op("band_stop", design, {"centre": _hertz("centre", centre), "q": _quality(q)})


def peaking(*, centre: Ends = (100.0, 3500.0), gain_db: Ends = (-12.0, 12.0), q: Ends = (0.5, 3.0)) -> Op:
    """A peak or dip of an equaliser, after the cookbook: the gain at the centre, none far from it.

    Params: `(centre in Hz, gain in dB, q)`.

    Args:
      centre: ends of its draw in Hz.
      gain_db: ends of its draw, within 60 dB.
      q: ends of the draw of the quality factor.

    Raises:
      ValueError: as in `low_pass`.
    """
    ranges = {"centre": _hertz("centre", centre), "gain_db": _decibels(gain_db), "q": _quality(q)}
    return _op("peaking", sections.peaking_sections, ranges)


def shelf(
    *, kind: str = "low", cutoff: Ends = (200.0, 3000.0), gain_db: Ends = (-12.0, 12.0), q: Ends = (0.5, 1.0)
) -> Op:
    """A shelf of an equaliser, after the cookbook: the gain on one side of the cut-off, half of it in dB there.

    Params: `(cut-off in Hz, gain in dB, q)`.

    Args:
      kind: `low`: the gain below the cut-off; `high`: above it.
      cutoff: ends of its draw in Hz.
      gain_db: ends of its draw, within 60 dB.
      q: ends of the draw of the quality factor; 0.707 is the steepest slope without overshoot.

    Raises:
      ValueError: when built, if the kind is unknown; else as in `low_pass`.
    """
    design = SHELVES[one_of_names("kind", kind, tuple(SHELVES))]
    ranges = {"cutoff": _hertz("cutoff", cutoff), "gain_db": _decibels(gain_db), "q": _quality(q)}
    return _op("shelf", design, ranges)


def _op(name: str, design: Callable, ranges: dict[str, Ends]) -> Op:
    """An op whose params are the values of `ranges`, in that order; one value alone is no tuple."""

    def draw(key: Array, spec: Clip) -> Array | tuple[Array, ...]:
        keys = jax.random.split(key, len(ranges))
        drawn = [_draw(own, where, ends) for own, (where, ends) in zip(keys, ranges.items(), strict=True)]
        return tuple(drawn) if len(drawn) > 1 else drawn[0]

    def apply(drawn: Array | tuple[Array, ...], clip: Clip) -> Clip:
        check_below_nyquist(next(iter(ranges)), next(iter(ranges.values()))[1], clip.rate)
        params = drawn if len(ranges) > 1 else (drawn,)
        return through_sections(functools.partial(design, rate=clip.rate), params, clip)

    return Op(draw, apply, name=name)


def check_below_nyquist(where: str, frequency: float, rate: int) -> None:
    """Refuses frequencies that sound of a rate cannot have.

    Raises:
      ValueError: if the frequency is not below half the rate, both in Hz.
    """
    if not frequency < rate / 2:
        raise ValueError(f"{where} must stay below {rate / 2:g} Hz, half the rate of the clip, got {frequency:g} Hz")


def _draw(key: Array, where: str, ends: Ends) -> Array:
    return draw_uniform(key, ends) if where == "gain_db" else draw_log_uniform(key, ends)


def draw_log_uniform(key: Array, ends: Ends) -> Array:
    """A float32 draw between two positive ends, uniform in its logarithm."""
    drawn = jnp.exp(draw_uniform(key, (math.log(ends[0]), math.log(ends[1]))))
    return jnp.clip(drawn, *ends)


def _hertz(where: str, value: Ends) -> Ends:
    return interval(where, value, least=LOWEST_HZ)


def _decibels(value: Ends) -> Ends:
    return interval("gain_db", value, least=-MOST_GAIN_DB, most=MOST_GAIN_DB)


def _quality(value: Ends) -> Ends:
    return interval("q", value, least=LEAST_Q, most=MOST_Q)


def _order(value: int) -> int:
    if type(value) is not int or not 1 <= value <= MOST_ORDER:
        raise ValueError(f"order must be an int from 1 to {MOST_ORDER}, got {value!r}")
    return value
