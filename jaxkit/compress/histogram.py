"""How often values occur, in memory that does not grow with their number.

The bins of a histogram are as wide as a power of two and start at a multiple of it. Bins that become too many are
joined in pairs. So histograms of parts merge into exactly the histogram of the whole, in any order.
"""

import math
from typing import NamedTuple

import numpy as np

FINEST = -140  # exponent of the width of the narrowest bins, below the smallest float32


class Histogram(NamedTuple):
    """Counts of values in bins `[k * 2**exponent, (k + 1) * 2**exponent)`.

    Attributes:
      counts: int64 `[n]`, of the bins `first`, `first + 1`, ...; zeros are not among them.
      first: which bin `counts` starts with.
      exponent: of the width of a bin.
      zeros: how many values were exactly 0, which every scale represents.
      low, high: the ends of what occurred, and of 0.
      bins: how many there may be.
    """

    counts: np.ndarray
    first: int
    exponent: int
    zeros: int
    low: float
    high: float
    bins: int

    @property
    def total(self) -> int:
        """How many values there were."""
        return int(self.counts.sum()) + self.zeros

    def centres(self) -> np.ndarray:
        """The middle of every bin, float64 `[n]`, of the part of it that occurred."""
        edges = np.clip((self.first + np.arange(len(self.counts) + 1)) * 2.0**self.exponent, self.low, self.high)
        return (edges[1:] + edges[:-1]) / 2


def empty(bins: int) -> Histogram:
    """The histogram of no values.

    Raises:
      ValueError: if there are fewer than 64 bins, with which no range can be chosen.
    """
    if type(bins) is not int or bins < 64:
        raise ValueError(f"bins must be an int of at least 64, got {bins!r}")
    return Histogram(np.zeros(1, np.int64), 0, FINEST, 0, 0.0, 0.0, bins)


def observe(histogram: Histogram, x: np.ndarray) -> Histogram:
    """The histogram with some values more.

    Args:
      histogram: what was seen before.
      x: float32 of any shape, finite.

    Returns:
      A new one. Time is O(values + bins), memory O(bins) besides that of `x`.
    """
    x = np.ravel(x)
    if not x.size:
        return histogram
    low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    exponent, first, last = _frame(low, high, histogram.bins)
    steps = np.floor(x * np.float32(2.0**-exponent) if exponent > -120 else np.ldexp(x, -exponent))
    counts = np.bincount(steps.astype(np.int32) - np.int32(first), minlength=last - first + 1)
    zeros = x.size - int(np.count_nonzero(x))
    counts[-first] -= zeros
    return merge(histogram, Histogram(counts.astype(np.int64), first, exponent, zeros, low, high, histogram.bins))


def merge(one: Histogram, other: Histogram) -> Histogram:
    """The histogram of what either has seen.

    Raises:
      ValueError: if they have different numbers of bins.
    """
    if one.bins != other.bins:
        raise ValueError(f"histograms of {one.bins} and {other.bins} bins do not merge")
    low, high = min(one.low, other.low), max(one.high, other.high)
    exponent, first, last = _frame(low, high, one.bins)
    counts = np.zeros(last - first + 1, np.int64)
    for part in (one, other):
        # An arithmetic shift rounds down, as joining bins from multiples of the new width does.
        places = (part.first + np.arange(len(part.counts))) >> min(exponent - part.exponent, 62)
        np.add.at(counts, places - first, part.counts)
    return Histogram(counts, first, exponent, one.zeros + other.zeros, low, high, one.bins)


def _frame(low: float, high: float, bins: int) -> tuple[int, int, int]:
    """The finest width that covers a range with so many bins, and the first and the last of them."""
    span = max(high, -low)
    exponent = FINEST if span == 0 else max(math.frexp(span)[1] - bins.bit_length(), FINEST)
    while True:
        first, last = math.floor(low * 2.0**-exponent), math.floor(high * 2.0**-exponent)
        if last - first < bins:
            return exponent, first, last
        exponent += 1
