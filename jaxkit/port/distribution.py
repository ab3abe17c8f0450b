"""Agreement of random programs: the draws follow the same distribution, and are as independent as they should be."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jaxkit.port.declare import Port, Request
from jaxkit.port.leaves import describe, to_numpy
from jaxkit.port.result import Verdict
from jaxkit.port.sides import guarded
from jaxkit.port.significance import (
    correlation,
    distinct_rows,
    group_ratio,
    is_constant,
    kolmogorov_distance,
    kolmogorov_p,
    mean_z,
    normal_p,
    normal_z,
    tail_p,
)

GROUPS = (8, 64, 512)
LEAST_COUNT = 1000
RETRY = 10
GRID = 1e-4
DISTINCT_SHARE = 0.75
FAR = 8.0


class Finding(NamedTuple):
    """One test: what it compared, its p-value, and a sentence for the case that it fails."""

    test: str
    p: float
    message: str


@dataclass(frozen=True)
class SameDistribution:
    """Draws of both sides come from the same distribution, and the rewrite's rows are independent.

    Each row is one draw of all parameters, and rows must be independent of each other: let consecutive rows be the
    members of a batch. Tested per column: the distribution (Kolmogorov-Smirnov), the first four moments (z tests), the
    extremes; per pair of columns the correlation; of the rewrite alone the variance of the means over groups of 8, 64
    and 512 rows against independence (it finds one key shared by a batch, which no marginal test can), the correlation
    of neighbours, the number of distinct values, and that the seed is used. `alpha` is divided by the number of tests
    (Bonferroni). A test that fails is tried again with another seed and ten times as many draws, and only a second
    failure counts.

    A scale error of 2 % of a normal draw moves the variance by 4 %: 100 000 draws see that with near certainty, 4 000
    do not. The verdict states the smallest scale error that the count could see.

    Args:
      reference, rewrite: `f(seed, count)` that returns draws `[count, k]` as numbers.
      labels: names of the k columns.
      count: draws per side; `quick` divides it by ten.
      alpha: chance of a false alarm of the first try, all tests together.

    Raises:
      ValueError: if there are no labels, `count` is below 1000, or `alpha` is not within (0, 0.1].
    """

    reference: Callable[[int, int], Any]
    rewrite: Callable[[int, int], Any]
    labels: tuple[str, ...]
    count: int = 100_000
    alpha: float = 1e-3
    name: str = "same distribution"

    def __post_init__(self) -> None:
        if isinstance(self.labels, str) or not self.labels:
            raise ValueError(f"SameDistribution(labels={self.labels!r}): give a tuple with one name per column")
        if self.count < LEAST_COUNT or not 0 < self.alpha <= 0.1:
            found = f"SameDistribution(count={self.count}, alpha={self.alpha})"
            raise ValueError(f"{found}: count >= {LEAST_COUNT} and alpha in (0, 0.1] are needed")

    def check(self, port: Port, request: Request) -> Verdict:
        """Draw, test, and try once more with ten times the draws if anything failed."""
        count = max(LEAST_COUNT, self.count // 10) if request.quick else self.count
        verdict = self._attempt(request.seed, count, retried=False)
        if verdict.passed or verdict.figures.get("certain") == "yes":
            return verdict
        return self._attempt(request.seed + 1, RETRY * count, retried=True)

    def _attempt(self, seed: int, count: int, *, retried: bool) -> Verdict:
        a, b = self._draw("reference", seed, count), self._draw("rewrite", seed, count)
        message = _unreadable(a, b)
        if message:
            return Verdict(self.name, False, message, {"draws": count, "certain": "yes"})
        again = self._draw("rewrite", seed + 2, count)
        a, b, again = (_rounded_alike(draws, a.dtype, b.dtype) for draws in (a, b, again))
        tests = list(_tests(a, b, self.labels))
        level = self.alpha / len(tests)
        certain = [*_seed_ignored(b, again), *_repeats(a, b, self.labels), *_constants(a, b, self.labels)]
        failed = [*certain, *(test.message for test in sorted(tests, key=lambda test: test.p) if test.p < level)]
        figures = self._figures(a, b, tests, count, retried) | ({"certain": "yes"} if certain else {})
        return Verdict(self.name, not failed, _blame(failed) or _praise(figures), figures)

    def _draw(self, side: str, seed: int, count: int) -> np.ndarray:
        with guarded(f"the {side} drawing {count} values for {self.name!r}"):
            draws = to_numpy(getattr(self, side)(seed, count))
            if draws.shape != (count, len(self.labels)):
                raise ValueError(
                    f"the draws are {describe(draws)}: [{count}, {len(self.labels)}] is needed for labels {self.labels}"
                )
        return draws

    def _figures(self, a: np.ndarray, b: np.ndarray, tests: list[Finding], count: int, retried: bool) -> dict:
        least = min(tests, key=lambda test: test.p)
        scales = {label: _visible_scale(x, self.alpha / len(tests)) for label, x in zip(self.labels, a.T, strict=True)}
        blurred = max(scales, key=scales.get)
        ratios = [group_ratio(x, size)[0] for x in b.T for size in GROUPS]
        return {
            "draws": count,
            "alpha": self.alpha,
            "tests": len(tests),
            "smallest p": least.p,
            "test with the smallest p": least.test,
            "variance of group means": max(ratios, key=lambda ratio: abs(math.log(max(ratio, 1e-300)))),
            "visible scale error": scales[blurred],
            "least visible in": blurred,
            "retried": "yes" if retried else "no",
        }


def _blame(failed: list[str]) -> str:
    more = f"; and {len(failed) - 3} more" if len(failed) > 3 else ""
    return "; ".join(failed[:3]) + more


def _praise(figures: dict) -> str:
    return (
        f"{figures['tests']} tests on {figures['draws']} draws found no difference "
        f"(alpha {figures['alpha']:g} over all; smallest p {figures['smallest p']:.2g}); "
        f"a scale error above {figures['visible scale error']:.1%} would show in every column "
        f"(least visible in {figures['least visible in']})"
    )


def _unreadable(a: np.ndarray, b: np.ndarray) -> str | None:
    for side, draws in (("reference", a), ("rewrite", b)):
        if draws.dtype.kind not in "biuf" or not np.isfinite(draws).all():
            return f"the draws of the {side} are {describe(draws)} and not all finite numbers"
    return None


def _rounded_alike(draws: np.ndarray, a: np.dtype, b: np.dtype) -> np.ndarray:
    """Bring both sides to the coarser of their floating dtypes, so that 0.1 is 0.1 on both."""
    floats = [dtype for dtype in (a, b) if dtype.kind == "f"]
    coarse = min(floats, key=lambda dtype: dtype.itemsize) if floats else np.dtype(np.float64)
    return draws.astype(coarse).astype(np.float64)


def _tests(a: np.ndarray, b: np.ndarray, labels: tuple[str, ...]) -> Iterator[Finding]:
    for i, label in enumerate(labels):
        yield from _marginal(a[:, i], b[:, i], label)
        yield from _independence(b[:, i], label)
        for j in range(i):
            yield _relation(a[:, [j, i]], b[:, [j, i]], f"{labels[j]} and {label}")


def _marginal(a: np.ndarray, b: np.ndarray, label: str) -> Iterator[Finding]:
    """Tests of one column, standardised by the pooled mean and deviation so that no unit matters."""
    both = np.concatenate([a, b])
    centre, scale = both.mean(), both.std()
    if scale <= 1e-6 * abs(centre) or scale == 0:
        return
    # Steps of 1e-4 deviations hide the last bits, in which equal discrete values may differ on both sides.
    u, v = (np.round((x - centre) / scale / GRID) * GRID for x in (a, b))
    distance = kolmogorov_distance(u, v)
    yield Finding(
        f"KS of {label}",
        kolmogorov_p(distance, u.size, v.size),
        f"{label} is distributed differently (largest distance of the distribution functions {distance:.3g})",
    )
    names = {1: "mean", 2: "variance", 3: "skewness", 4: "kurtosis"}
    for power, name in names.items():
        if power <= 2 or max(np.abs(u).max(), np.abs(v).max()) < FAR:
            yield _moment(u**power, v**power, name, label, a, b)
    lowest, highest = (f"[{x.min():.4g}, {x.max():.4g}]" for x in (a, b))
    yield Finding(
        f"range of {label}", tail_p(u, v), f"{label} covers {highest} in the rewrite and {lowest} in the reference"
    )


def _moment(u: np.ndarray, v: np.ndarray, name: str, label: str, a: np.ndarray, b: np.ndarray) -> Finding:
    show = {"mean": lambda x: x.mean(), "variance": lambda x: x.var()}.get(name)
    told = f": {show(b):.5g} in the rewrite, {show(a):.5g} in the reference" if show else ""
    return Finding(f"{name} of {label}", normal_p(mean_z(u, v)), f"the {name} of {label} differs{told}")


def _independence(x: np.ndarray, label: str) -> Iterator[Finding]:
    for size in GROUPS:
        ratio, p = group_ratio(x, size)
        yield Finding(
            f"groups of {size} of {label}",
            p,
            f"draws of {label} depend on their neighbours: the means over groups of {size} vary {ratio:.3g} times as "
            "much as independent draws (is one key shared by a batch?)",
        )
    r, error = correlation(x[:-1], x[1:])
    yield Finding(f"neighbours of {label}", normal_p(r / error), f"neighbouring draws of {label} correlate by {r:.3g}")


def _relation(a: np.ndarray, b: np.ndarray, labels: str) -> Finding:
    (r, error), (s, other) = correlation(*a.T), correlation(*b.T)
    message = f"{labels} correlate by {s:.3g} in the rewrite and {r:.3g} in the reference (one key used twice?)"
    return Finding(f"correlation of {labels}", normal_p((s - r) / math.hypot(error, other)), message)


def _repeats(a: np.ndarray, b: np.ndarray, labels: tuple[str, ...]) -> Iterator[str]:
    """Columns, and whole rows, that hold clearly fewer distinct values than the reference; chance cannot do that."""
    counts = {label: (np.unique(x).size, np.unique(y).size) for label, x, y in zip(labels, a.T, b.T, strict=True)}
    counts["whole rows"] = distinct_rows(a), distinct_rows(b)
    fewer = {label: found for label, (wanted, found) in counts.items() if found < DISTINCT_SHARE * wanted}
    if fewer:
        least = min(fewer, key=fewer.get)
        yield (
            f"values repeat in {', '.join(fewer)}: {least} has {fewer[least]} distinct ones in {len(b)} draws, the "
            f"reference has {counts[least][0]} (is one key shared by a batch, or a seed used again?)"
        )


def _constants(a: np.ndarray, b: np.ndarray, labels: tuple[str, ...]) -> Iterator[str]:
    for label, x, y in zip(labels, a.T, b.T, strict=True):
        if is_constant(x) and is_constant(y) and not math.isclose(x[0], y[0], rel_tol=1e-6, abs_tol=1e-30):
            yield f"{label} is always {y[0]:.6g} in the rewrite and always {x[0]:.6g} in the reference"


def _seed_ignored(b: np.ndarray, again: np.ndarray) -> Iterator[str]:
    if distinct_rows(b) > 10 and np.array_equal(b, again):
        yield "another seed gives the same draws: the rewrite ignores its seed"


def _visible_scale(x: np.ndarray, level: float) -> float:
    """Relative error of the scale that the variance test finds in nine of ten tries."""
    if is_constant(x):
        return 0.0
    spread = x.var()
    kurtosis = ((x - x.mean()) ** 4).mean() / spread**2
    return 0.5 * (normal_z(level) + 1.28) * math.sqrt(2 * max(kurtosis - 1, 0.0) / x.size)
