"""Which range of a value the integers should cover, by how often its values occur."""

from collections.abc import Callable

import numpy as np

from jaxkit.compress.histogram import Histogram
from jaxkit.compress.rounding import affine
from jaxkit.compress.target import Target
from jaxkit.ranges import number, one_of_names

RANGES = ("minmax", "percentile", "entropy", "mse")
LEVELS = 255  # steps between the ends of a range
POINTS = 4  # at which a bin is rounded
SHARES = np.linspace(0.1, 1.0, 46)  # of an end, to be tried
Ends = tuple[float, float]


def range_of(histogram: Histogram, ranges: str, *, target: Target, percentile: float = 99.99) -> Ends:
    """The ends of the range that integers should cover; values beyond saturate.

    Args:
      histogram: of the value.
      ranges: "minmax": all that occurred; "percentile": what is left without the rarest at both ends; "entropy": the
        ends at which the rounded values tell least apart from the real ones (Kullback-Leibler; Migacz, "8-bit inference
        with TensorRT", 2017); "mse": the ends with the least squared error of rounding and saturating.
      target: whose integers they are.
      percentile: of the values, in (50, 100], that are not above the upper end; and not below the lower one.

    Returns:
      `(low, high)` with 0 between them, within what occurred.

    Raises:
      ValueError: if there is no such method, or the percentile is out of its range.
    """
    one_of_names("ranges", ranges, RANGES)
    percentile_share(percentile)
    if ranges == "minmax" or not histogram.counts.any():
        return histogram.low, histogram.high
    if ranges == "percentile":
        return _percentile(histogram, percentile_share(percentile))
    return _least_divergence(histogram) if ranges == "entropy" else _least_error(histogram, target)


def percentile_share(percentile: float) -> float:
    """A percentile in (50, 100] as a share of 1.

    Raises:
      ValueError: if it is out of that range.
    """
    if not 50.0 < number("percentile", percentile) <= 100.0:
        raise ValueError(f"percentile must be in (50, 100], got {percentile!r}; 99.99 leaves out one value in 10000")
    return percentile / 100.0


def _percentile(histogram: Histogram, share: float) -> Ends:
    counts = histogram.counts.copy()
    counts[-histogram.first] += histogram.zeros
    allowed = (1.0 - share) * histogram.total
    edges = _edges(histogram)
    below, above = np.cumsum(counts), np.cumsum(counts[::-1])[::-1]
    low, high = edges[:-1][below > allowed].min(), edges[1:][above > allowed].max()
    return min(float(low), 0.0), max(float(high), 0.0)


def _edges(histogram: Histogram) -> np.ndarray:
    """The edges of the bins, within what occurred: float64 `[n + 1]`."""
    places = histogram.first + np.arange(len(histogram.counts) + 1)
    return np.clip(places * 2.0**histogram.exponent, histogram.low, histogram.high)


def _least_error(histogram: Histogram, target: Target) -> Ends:
    """Both ends drawn in together, then each of them alone."""
    error = _rounding_error(histogram, target)
    low, high = histogram.low, histogram.high
    share = _best(lambda share: error(share * low, share * high))
    low, high = share * low, share * high
    if target.symmetric or low == 0.0 or high == 0.0:
        return low, high
    full, top = histogram.low, histogram.high
    for _ in range(2):
        high = top * _best(lambda share, low=low: error(low, share * top))
        low = full * _best(lambda share, high=high: error(share * full, high))
    return low, high


def _best(error: Callable[[float], float]) -> float:
    """The share with the least error; of equals the largest."""
    errors = [error(float(share)) for share in SHARES[::-1]]
    return float(SHARES[::-1][int(np.argmin(errors))])


def _rounding_error(histogram: Histogram, target: Target) -> Callable[[float, float], float]:
    """The squared error of a range, as a function of its ends. Bins are wider than steps now and then: they count at
    several points."""
    seen = np.flatnonzero(histogram.counts)
    edges = _edges(histogram)
    places = (np.arange(POINTS) + 0.5) / POINTS
    points = (edges[seen, None] * (1 - places) + edges[seen + 1, None] * places).astype(np.float32)
    counts = np.broadcast_to(histogram.counts[seen, None], points.shape).astype(np.float32)
    info = np.iinfo(target.activations)

    def error(low: float, high: float) -> float:
        at = affine(low, high, target=target)
        bounds = float(info.min) - at.zero_point, float(info.max) - at.zero_point
        steps = np.clip(np.rint(points * (1 / at.scale)), *map(np.float32, bounds))
        return float(np.sum(counts * np.square(steps * at.scale - points), dtype=np.float64))

    return error


def _least_divergence(histogram: Histogram) -> Ends:
    """Both ends drawn in together, with at least one bin for every step."""
    edges, count = _edges(histogram), len(histogram.counts)
    best, ends = np.inf, (histogram.low, histogram.high)
    for share in SHARES[::-1]:
        first = -histogram.first - int(np.ceil(-histogram.first * share))
        last = -histogram.first + max(int(np.ceil((count + histogram.first) * share)), 1)
        if last - first < min(LEVELS, count):
            break
        divergence = _divergence(histogram.counts, first, last)
        if divergence < best:
            best, ends = divergence, (float(edges[first]), float(edges[last]))
    return ends


def _divergence(counts: np.ndarray, first: int, last: int) -> float:
    """Of the distribution whose ends hold what is beyond them from the one that only has steps."""
    inside = counts[first:last].astype(np.float64)
    whole = inside.copy()
    whole[0] += counts[:first].sum()
    whole[-1] += counts[last:].sum()
    step = np.arange(len(inside)) * LEVELS // max(len(inside), LEVELS)
    occupied = inside > 0
    heights = np.bincount(step, inside) / np.maximum(np.bincount(step, occupied), 1)
    rounded = np.where(occupied, heights[step], 0.0)
    if not rounded.any():
        return np.inf
    p, q = whole / whole.sum(), np.maximum(rounded / rounded.sum(), 1e-12)
    return float(np.sum(p * np.log(np.maximum(p, 1e-300) / q)))
