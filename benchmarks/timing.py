"""Interleaved measurement in one process: every round runs each side once, and rounds give ratios with a spread."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np

LEAST_SECONDS = 0.6
MOST_FACTOR = 4
RESAMPLES = 1000


class Side(NamedTuple):
    """One competitor: a call that makes some batches, and the threads that OpenCV may use in this process."""

    name: str
    run: Callable[[], Any]
    threads: int = 2
    batches: int = 1


class Spread(NamedTuple):
    """Milliseconds: median and quartiles over rounds."""

    median: float
    low: float
    high: float


class Ratio(NamedTuple):
    """How many times faster: ratio of medians, and its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


def interleave(sides: Sequence[Side], *, rounds: int) -> dict[str, np.ndarray]:
    """Milliseconds a batch, `[rounds]`, of each side. The order rotates, so that none always follows the same other.

    Runs each once untimed, then at least `rounds` rounds, and more while little time has passed.
    """
    for side in sides:
        _timed(side)
    times: list[list[float]] = []
    start = time.perf_counter()
    while len(times) < rounds or (len(times) < MOST_FACTOR * rounds and time.perf_counter() - start < LEAST_SECONDS):
        turn = len(times) % len(sides)
        order = [*range(turn, len(sides)), *range(turn)]
        row = [0.0] * len(sides)
        for index in order:
            row[index] = _timed(sides[index])
        times.append(row)
    return {side.name: column for side, column in zip(sides, np.array(times).T, strict=True)}


def _timed(side: Side) -> float:
    cv2.setNumThreads(side.threads)
    start = time.perf_counter()
    side.run()
    return 1e3 * (time.perf_counter() - start) / side.batches


def spread(times: np.ndarray) -> Spread:
    low, median, high = np.percentile(times, (25, 50, 75))
    return Spread(float(median), float(low), float(high))


def ratio(other: np.ndarray, own: np.ndarray, *, seed: int = 0) -> Ratio:
    """How many times faster `own` is than `other`, from times of the same rounds; whole rounds are resampled."""
    picks = np.random.default_rng(seed).integers(0, own.size, (RESAMPLES, own.size))
    resampled = np.median(other[picks], 1) / np.median(own[picks], 1)
    low, high = np.percentile(resampled, (2.5, 97.5))
    return Ratio(float(np.median(other) / np.median(own)), float(low), float(high))
