"""Tests of significance on columns of draws, in NumPy: each returns a two-sided p-value.

Sources: Kolmogorov's series with Stephens' correction for two samples (Press et al., Numerical Recipes, section 14.3);
z tests from the central limit theorem; the cube root of a chi-square variable (Wilson and Hilferty, 1931); the delta
method for a correlation (van der Vaart, Asymptotic Statistics, example 3.6).
"""

import math

import numpy as np


def normal_p(z: float) -> float:
    """Two-sided p-value of a standard normal statistic."""
    return math.erfc(abs(z) / math.sqrt(2.0))


def normal_z(p: float) -> float:
    """The z whose two-sided p-value is `p`, by bisection."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if normal_p(middle) > p else (low, middle)
    return low


def is_constant(x: np.ndarray) -> bool:
    """Whether all values are the same; their computed variance may still be a rounding error above zero."""
    return bool(x.min() == x.max())


def kolmogorov_p(distance: float, n: int, m: int) -> float:
    """P-value of the two-sample Kolmogorov-Smirnov distance of samples of `n` and `m` values."""
    root = math.sqrt(n * m / (n + m))
    x = (root + 0.12 + 0.11 / root) * distance
    if x < 0.2:
        return 1.0
    terms = ((-1) ** (k - 1) * math.exp(-2 * (k * x) ** 2) for k in range(1, 101))
    return min(1.0, max(0.0, 2 * sum(terms)))


def kolmogorov_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference of the empirical distribution functions of two samples [N] and [M]."""
    a, b, at = np.sort(a), np.sort(b), np.sort(np.concatenate([a, b]))
    below_a = np.searchsorted(a, at, side="right") / a.size
    below_b = np.searchsorted(b, at, side="right") / b.size
    return float(np.abs(below_a - below_b).max())


def mean_z(a: np.ndarray, b: np.ndarray) -> float:
    """z of the difference of two means [N] and [M] (Welch). Equal constants give 0, different ones infinity."""
    gap = b.mean() - a.mean()
    error = math.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)
    if error == 0:
        return 0.0 if gap == 0 else math.inf
    return float(gap / error)


def tail_p(a: np.ndarray, b: np.ndarray) -> float:
    """P-value that the values of one sample beyond the other's range are that many by chance, at either end.

    Without ties, the k largest of all N + M values come from the same sample with probability
    prod (N - i) / (N + M - i). It finds a scale error of a bounded draw that moments need many more values for.
    """
    counts = ((int((a > b.max()).sum()), a.size), (int((b > a.max()).sum()), b.size))
    counts += ((int((a < b.min()).sum()), a.size), (int((b < a.min()).sum()), b.size))
    total = a.size + b.size
    logs = [sum(math.log((n - i) / (total - i)) for i in range(min(k, 200))) for k, n in counts]
    return min(1.0, 4 * math.exp(min(logs)))


def distinct_rows(draws: np.ndarray) -> int:
    """How many different rows `[N, k]` float64 holds, by a 64-bit hash of each (sorting whole rows is far slower)."""
    odd = np.random.default_rng(0).integers(0, 2**63, size=draws.shape[1], dtype=np.uint64) * 2 + 1
    bits = np.ascontiguousarray(draws + 0.0).view(np.uint64)
    mixed = (bits ^ (bits >> 29)) * odd
    return np.unique((mixed ^ (mixed >> 32)).sum(axis=1, dtype=np.uint64)).size


def group_ratio(x: np.ndarray, size: int) -> tuple[float, float]:
    """Variance of the means over consecutive groups of `size`, over that of independent values; and its p-value.

    One key shared by a group makes the ratio `size`; stratified draws make it less than 1.
    """
    groups = x.size // size
    if groups < 8 or is_constant(x):
        return 1.0, 1.0
    means = x[: groups * size].reshape(groups, size).mean(axis=1)
    spread = x.var(ddof=1)
    ratio = float(means.var(ddof=1) * size / spread)
    # To first order the ratio varies by 2 (1 - 1/size) / groups whatever the kurtosis is: it cancels in the quotient.
    freedom = (groups - 1) * size / (size - 1)
    z = (ratio ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))
    return ratio, normal_p(z)


def correlation(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Correlation of two columns [N] and its standard error, never below that of independent columns."""
    if is_constant(x) or is_constant(y):
        return 0.0, 1 / math.sqrt(x.size)
    a, b = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    r = float((a * b).mean())
    influence = a * b - r / 2 * (a * a + b * b)
    return r, max(1.0, float(influence.std())) / math.sqrt(x.size)
