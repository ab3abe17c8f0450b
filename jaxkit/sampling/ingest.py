"""From rows to bodies: blocks are judged and placed in two threads (NumPy lets others run while it computes)."""

import collections
import functools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from jaxkit.sampling.anchor import Anchor, Position, fitted
from jaxkit.sampling.report import InvalidEllipsoidError, Report
from jaxkit.sampling.rows import Source
from jaxkit.sampling.validate import Rules, Settled, Summary, merge, settle

BLOCK = 2**16
THREADS = 2

Placed = tuple[Position, np.ndarray, np.ndarray]
Origin = tuple[float, float, float] | None


def ahead(function: Callable[[Any], Any], tasks: Iterator[Any]) -> Iterator[Any]:
    """`function` of every task, in order, while the next two are being computed."""
    pool, waiting = ThreadPoolExecutor(THREADS), collections.deque()
    try:
        for task in tasks:
            waiting.append(pool.submit(function, task))
            if len(waiting) > THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _blocks(first: int, last: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + BLOCK, last)) for start in range(first, last, BLOCK))


def survey(
    source: Source, rules: Rules, *, origin: Origin = None, where: str = "", keep: Placed | None = None
) -> tuple[Anchor, Report]:
    """Judges all rows and finds the frame of the cloud.

    Args:
      source: the rows.
      rules: what to do about invalid rows.
      origin: world coordinates of the frame; None: near the centre.
      where: the file, for the message.
      keep: if given, semi-axes and quaternions are written to its arrays.

    Raises:
      InvalidEllipsoidError: if rows are invalid and `rules.on_invalid` is "raise".
    """

    def judge(block: tuple[int, int]) -> Summary:
        settled, summary = settle(source.read(*block), block[0], rules)
        if keep is not None:
            _store(keep, slice(*block), settled)
        return summary

    total = functools.reduce(merge, ahead(judge, _blocks(0, source.rows)), Summary())
    ratio = total.coarsest / total.finest if total.coarsest else 1.0
    report = Report(total.rows, total.invalid, total.dropped, total.clamped, total.faint, total.aspect, ratio)
    if report.invalid and rules.on_invalid == "raise":
        raise InvalidEllipsoidError(report, where)
    return fitted(total.low, total.high, 2 * total.finest, origin=origin), report


def bodies(source: Source, rules: Rules, anchor: Anchor, first: int, last: int) -> Placed:
    """The rows from `first` to before `last` in the frame of the cloud, block by block in the calling thread."""
    out = room(last - first)
    for start, end in _blocks(first, last):
        settled, _ = settle(source.read(start, end), start, rules)
        where = slice(start - first, end - first)
        _store(out, where, settled)
        _place(out, where, settled.center, settled.void, anchor)
    return out


def load(source: Source, rules: Rules, anchor: Anchor) -> Placed:
    """All rows, in two threads."""
    out = room(source.rows)

    def fill(block: tuple[int, int]) -> None:
        settled, _ = settle(source.read(*block), block[0], rules)
        _store(out, slice(*block), settled)
        _place(out, slice(*block), settled.center, settled.void, anchor)

    collections.deque(ahead(fill, _blocks(0, source.rows)), maxlen=0)
    return out


def gather(source: Source, rules: Rules, origin: Origin, *, where: str = "") -> tuple[Placed, Anchor, Report]:
    """All rows: judged once, then placed in the frame that this yields, for which their parts are read again."""
    out = room(source.rows)
    anchor, report = survey(source, rules, origin=origin, where=where, keep=out)

    def place(block: tuple[int, int]) -> None:
        center = np.array(source.parts(*block)["center"], np.float64)
        _place(out, slice(*block), center, np.flatnonzero(out[1][slice(*block), 0] == 0), anchor)

    collections.deque(ahead(place, _blocks(0, source.rows)), maxlen=0)
    return out, anchor, report


def room(rows: int) -> Placed:
    """Arrays for so many bodies."""
    position = Position(np.empty((rows, 3), np.int32), np.empty((rows, 3), np.float32))
    return position, np.empty((rows, 3), np.float32), np.empty((rows, 4), np.float32)


def _store(out: Placed, where: slice, settled: Settled) -> None:
    out[1][where], out[2][where] = settled.semi_axes, settled.quaternion


def _place(out: Placed, where: slice, center: np.ndarray, void: np.ndarray, anchor: Anchor) -> None:
    center[void] = anchor.origin
    out[0].cell[where], out[0].offset[where] = anchor.place(center)
