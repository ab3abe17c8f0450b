"""Sampling a union of ellipsoids by rejection from its box, and two-sample tests, in float64 NumPy."""

from typing import NamedTuple

import numpy as np
from scipy import stats

FIVE_SIGMA = 2 * stats.norm.sf(5.0)


class Solids(NamedTuple):
    """Ellipsoids as a textbook writes them: centres `[N, 3]`, radii `[N, 3]`, rotation matrices `[N, 3, 3]`."""

    center: np.ndarray
    semi_axes: np.ndarray
    matrix: np.ndarray


def covered_by(solids: Solids, points: np.ndarray) -> np.ndarray:
    """Whether each point `[M, 3]` lies in each body: `[M, N]` bool."""
    columns = []
    for center, semi_axes, matrix in zip(*solids, strict=True):
        in_body = (points - center) @ matrix / np.where(semi_axes > 0, semi_axes, np.nan)
        columns.append((in_body**2).sum(1) <= 1)
    return np.stack(columns, 1) if columns else np.zeros((len(points), 0), bool)


def box(solids: Solids) -> tuple[np.ndarray, np.ndarray]:
    """The corners of the tight upright box around all bodies."""
    half = np.sqrt(((solids.matrix * solids.semi_axes[:, None, :]) ** 2).sum(2))
    return (solids.center - half).min(0), (solids.center + half).max(0)


def sample(solids: Solids, count: int, rng: np.random.Generator) -> np.ndarray:
    """`count` points uniform in the union, `[count, 3]`."""
    low, high = box(solids)
    kept, found = [], 0
    while found < count:
        points = rng.uniform(low, high, (2 * count, 3))
        kept.append(points[covered_by(solids, points).any(1)])
        found += len(kept[-1])
    return np.concatenate(kept)[:count]


def volume(solids: Solids, proposals: int, rng: np.random.Generator) -> tuple[float, float]:
    """The volume of the union and its standard error, from the share of the box that it fills."""
    low, high = box(solids)
    share = covered_by(solids, rng.uniform(low, high, (proposals, 3))).any(1).mean()
    whole = float(np.prod(high - low))
    return whole * share, whole * float(np.sqrt(share * (1 - share) / proposals))


def chi_square(a: np.ndarray, b: np.ndarray, parts: int = 5) -> float:
    """The p-value of two samples `[., 3]` falling alike into `parts`^3 cells, cut at quantiles of both together."""
    both = np.concatenate([a, b])
    edges = [np.quantile(both[:, axis], np.linspace(0, 1, parts + 1)[1:-1]) for axis in range(3)]
    index = sum(np.searchsorted(edges[axis], both[:, axis]) * parts**axis for axis in range(3))
    counts = [np.bincount(part, minlength=parts**3) for part in (index[: len(a)], index[len(a) :])]
    return alike(*counts)


def alike(a: np.ndarray, b: np.ndarray) -> float:
    """The p-value of two rows of counts having one distribution; cells with under 20 counts are put together."""
    few = a + b < 20
    a, b = (np.append(counts[~few], counts[few].sum()) for counts in (a, b))
    used = a + b > 0
    table = np.stack([a[used], b[used]])
    return 1.0 if table.shape[1] < 2 else float(stats.chi2_contingency(table, correction=False).pvalue)


def kolmogorov(a: np.ndarray, b: np.ndarray) -> float:
    """The smallest p-value of the coordinates of two samples having one distribution, times their number."""
    tests = [stats.ks_2samp(a[:, axis], b[:, axis], method="asymp").pvalue for axis in range(a.shape[1])]
    return float(min(1.0, len(tests) * min(tests)))


def sigmas(hits: int, trials: int, share: float) -> float:
    """How many standard deviations a count of hits is from what a share of all trials would give."""
    return abs(hits - trials * share) / np.sqrt(trials * share * (1 - share))


def surface(solids: Solids, proposals: int, rng: np.random.Generator) -> tuple[np.ndarray, float, float]:
    """Points uniform by area on the exposed surface `[M, 3]`, its area, and the standard error of the area.

    Normal vectors of uniform direction are mapped by each body in turn, and kept by their element of area.
    """
    points, areas = [], []
    for index, (center, semi_axes, matrix) in enumerate(zip(*solids, strict=True)):
        unit = rng.normal(size=(proposals, 3))
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        element = 4 * np.pi * np.prod(semi_axes) * np.sqrt(((unit / semi_axes) ** 2).sum(1))
        places = center + (unit * semi_axes) @ matrix.T
        others = Solids(*(np.delete(part, index, 0) for part in solids))
        free = ~covered_by(others, places).any(1)
        areas.append(np.where(free, element, 0))
        points.append((places, areas[-1]))
    most = max(area.max() for _, area in points)
    kept = [places[rng.random(len(area)) * most < area] for places, area in points]
    error = np.sqrt(sum(area.var() for area in areas) / proposals)
    return np.concatenate(kept), float(sum(area.mean() for area in areas)), float(error)
