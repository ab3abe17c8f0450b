"""Judges the rows of a cloud, block by block: which are ellipsoids, why the others are not, what becomes of them.

A row counts under the first reason that holds for it, so that the counts add up to the number of invalid rows.
"""

import math
from typing import NamedTuple

import numpy as np

from jaxkit.sampling.report import CLAMPABLE, REASONS, Invalid
from jaxkit.sampling.rows import Rows

SMALLEST, LARGEST, FARTHEST = 1e-12, 1e12, 1e15
NO_DIRECTION = 1e-30
ROUNDING = 1e-12
LISTED = 10
POLICIES = ("raise", "drop", "clamp")


class Rules(NamedTuple):
    """What is done about invalid rows; `on_invalid` is one of "raise", "drop", "clamp"."""

    on_invalid: str = "raise"
    max_aspect: float = 1e6


class Summary(NamedTuple):
    """What is known of a block of rows, or of many: counts, and the extent of the rows that are kept.

    Attributes:
      rows, dropped, clamped, faint: numbers of rows; `faint` were left out by their opacity.
      invalid: reason to `Invalid`.
      low, high: corners of a box around all bodies, `[3]` float64.
      finest, coarsest: smallest and largest longest semi-axis.
      aspect: the largest quotient of a body's longest and shortest semi-axis.
    """

    rows: int = 0
    dropped: int = 0
    clamped: int = 0
    faint: int = 0
    invalid: dict[str, Invalid] = {}
    low: np.ndarray = np.full(3, np.inf)
    high: np.ndarray = np.full(3, -np.inf)
    finest: float = math.inf
    coarsest: float = 0.0
    aspect: float = 1.0


class Settled(NamedTuple):
    """Rows that can be placed. Those in `void` (indices) became bodies without extent.

    Attributes:
      center: `[n, 3]` float64, arbitrary where void.
      semi_axes: `[n, 3]` float64.
      quaternion: `[n, 4]` float64, unit.
      void: indices of the void rows.
    """

    center: np.ndarray
    semi_axes: np.ndarray
    quaternion: np.ndarray
    void: np.ndarray


def rules(on_invalid: str, max_aspect: float) -> Rules:
    """The rules, checked.

    Raises:
      ValueError: if `on_invalid` is unknown or `max_aspect` is not a finite number of at least 1.
    """
    if on_invalid not in POLICIES:
        raise ValueError(f"on_invalid must be one of {', '.join(POLICIES)}, not {on_invalid!r}")
    if not 1 <= max_aspect < math.inf:
        raise ValueError(f"max_aspect must be a finite number of at least 1, not {max_aspect}")
    return Rules(on_invalid, float(max_aspect))


def settle(given: Rows, first: int, chosen: Rules) -> tuple[Settled, Summary]:
    """Judges a block whose first row has the number `first`; the arrays of `given` are written to.

    Args:
      given: the rows as they came.
      first: number of the block's first row.
      chosen: with "raise" invalid rows are counted and dropped here; it is for the caller to raise.
    """
    short, long = _span(given.semi_axes)
    norm = np.sqrt(np.einsum("ni,ni->n", given.quaternion, given.quaternion))
    sound = _is_sound(given, short, long, norm, chosen.max_aspect)
    found = Summary()
    if not sound.all():
        sound, found = _mend(given, np.flatnonzero(~sound), sound, first, chosen)
        short, long = _span(given.semi_axes)
    faint = 0 if given.faint is None else int((given.faint & sound).sum())
    if given.faint is not None:
        sound &= ~given.faint
    void = np.flatnonzero(~sound)
    _clear(given, norm, void)
    given.quaternion[...] /= norm[:, None]
    kept = (given.center, short, long) if not len(void) else (given.center[sound], short[sound], long[sound])
    summary = _measured(*kept)._replace(rows=len(sound), faint=faint, clamped=found.clamped)
    return Settled(*given[:3], void), summary._replace(invalid=found.invalid, dropped=found.dropped)


def _span(semi_axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b, c = semi_axes.T
    return np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)


def _is_sound(given: Rows, short: np.ndarray, long: np.ndarray, norm: np.ndarray, max_aspect: float) -> np.ndarray:
    """`[n]` bool. Every comparison is false for a NaN."""
    sound = (short >= SMALLEST) & (long <= LARGEST)
    sound &= long <= short * (max_aspect * (1 + ROUNDING))
    sound &= (norm > NO_DIRECTION) & (norm < np.inf)
    for axis in range(3):
        sound &= np.abs(given.center[:, axis]) <= FARTHEST
    for fault in given.faults.values():
        sound &= ~fault
    return sound


def _clear(given: Rows, norm: np.ndarray, void: np.ndarray) -> None:
    given.semi_axes[void] = 0.0
    given.quaternion[void] = (1.0, 0.0, 0.0, 0.0)
    norm[void] = 1.0


def _measured(center: np.ndarray, short: np.ndarray, long: np.ndarray) -> Summary:
    if not len(center):
        return Summary()
    low = np.array([(center[:, axis] - long).min() for axis in range(3)])
    high = np.array([(center[:, axis] + long).max() for axis in range(3)])
    aspect = float((long / short).max())
    return Summary(low=low, high=high, finest=float(long.min()), coarsest=float(long.max()), aspect=aspect)


def _mend(given: Rows, bad: np.ndarray, sound: np.ndarray, first: int, chosen: Rules) -> tuple[np.ndarray, Summary]:
    """Names what is wrong with the rows `bad`, and writes clamped axes where that mends a row."""
    few = Rows(*(part[bad] for part in given[:3]), {reason: fault[bad] for reason, fault in given.faults.items()})
    norm = np.sqrt(np.einsum("ni,ni->n", few.quaternion, few.quaternion))
    invalid, clampable = _reasons(few, norm, first + bad, chosen.max_aspect)
    clamped = 0
    if chosen.on_invalid == "clamp":
        long = _span(few.semi_axes)[1]
        few.semi_axes[...] = np.maximum(few.semi_axes, (long / chosen.max_aspect)[:, None])
        few = few._replace(faults={reason: few.faults[reason] for reason in few.faults if reason not in CLAMPABLE})
        mended = clampable & _is_sound(few, *_span(few.semi_axes), norm, chosen.max_aspect)
        given.semi_axes[bad[mended]] = few.semi_axes[mended]
        sound[bad[mended]] = True
        clamped = int(mended.sum())
    return sound, Summary(invalid=invalid, clamped=clamped, dropped=len(bad) - clamped)


def _reasons(
    few: Rows, norm: np.ndarray, number: np.ndarray, max_aspect: float
) -> tuple[dict[str, Invalid], np.ndarray]:
    """The reasons of rows that are all invalid, with their row numbers, and which might be clamped, `[n]` bool."""
    holds = _tests(few, norm, max_aspect)
    left, clampable = np.ones(len(number), bool), np.zeros(len(number), bool)
    invalid = {}
    for reason in REASONS:
        hit = left & holds[reason]
        if hit.any():
            invalid[reason] = Invalid(int(hit.sum()), tuple(number[hit][:LISTED].tolist()))
        clampable |= hit & (reason in CLAMPABLE)
        left &= ~hit
    return invalid, clampable


def _tests(few: Rows, norm: np.ndarray, max_aspect: float) -> dict[str, np.ndarray]:
    short, long = _span(few.semi_axes)
    numbers = np.concatenate(few[:3], 1)
    none = np.zeros(len(norm), bool)
    own = {
        "NaN": np.isnan(numbers).any(1),
        "infinite": np.isinf(numbers).any(1),
        "non-positive axis": short <= 0,
        "zero quaternion": norm <= NO_DIRECTION,
        "extreme aspect": long > short * max_aspect,
        "out of range": ~none,
    }
    return {reason: own.get(reason, none) | few.faults.get(reason, none) for reason in REASONS}


def merge(a: Summary, b: Summary) -> Summary:
    """The summary of the rows of `a` followed by those of `b`."""
    counts = {name: getattr(a, name) + getattr(b, name) for name in ("rows", "dropped", "clamped", "faint")}
    invalid = {reason: _joined(a.invalid, b.invalid, reason) for reason in REASONS if reason in a.invalid | b.invalid}
    low, high = np.minimum(a.low, b.low), np.maximum(a.high, b.high)
    sizes = min(a.finest, b.finest), max(a.coarsest, b.coarsest), max(a.aspect, b.aspect)
    return Summary(**counts, invalid=invalid, low=low, high=high, **dict(zip(Summary._fields[-3:], sizes, strict=True)))


def _joined(a: dict[str, Invalid], b: dict[str, Invalid], reason: str) -> Invalid:
    one, other = a.get(reason, Invalid(0, ())), b.get(reason, Invalid(0, ()))
    return Invalid(one.count + other.count, (one.first + other.first)[:LISTED])
