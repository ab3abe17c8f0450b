"""Ranges from histograms: as good as a search over the values themselves."""

import numpy as np
import pytest

from jaxkit.compress import target
from jaxkit.compress.histogram import empty, observe
from jaxkit.compress.search import range_of

RUNTIMES = ("onnxruntime", "tensorrt")
SHAPES = {
    "normal": lambda rng: rng.normal(0.5, 1.0, 20_000),
    "heavy": lambda rng: rng.standard_t(3, 20_000),
    "cut": lambda rng: np.clip(rng.normal(1.0, 3.0, 20_000), 0, 6),
    "skewed": lambda rng: np.maximum(rng.exponential(1.0, 20_000) - 0.3, -0.1),
}


def _error(x, low, high, symmetric):
    """Of rounding `x` to 8 bits over a range, by the definition."""
    if symmetric:
        scale = max(high, -low) / 127
        return np.mean((np.clip(np.rint(x / scale), -128, 127) * scale - x) ** 2)
    scale = (high - low) / 255
    zero = np.rint(-low / scale)
    return np.mean(((np.clip(np.rint(x / scale) + zero, 0, 255) - zero) * scale - x) ** 2)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", RUNTIMES)
def test_least_error_is_that_of_a_search_over_the_values(rng, shape, name):
    x = SHAPES[shape](rng).astype(np.float32)
    runtime = target(name)
    low, high = range_of(observe(empty(2048), x), "mse", target=runtime)
    shares = np.linspace(0.05, 1.0, 39)
    ends = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    best = min(_error(x, a * ends[0], b * ends[1], runtime.symmetric) for a in shares for b in shares)
    assert ends[0] <= low <= 0 <= high <= ends[1]
    assert _error(x, low, high, runtime.symmetric) <= 1.03 * best


def test_percentiles_are_those_of_the_values(rng):
    x = np.concatenate([rng.normal(size=50_000), np.zeros(50_000)]).astype(np.float32)
    seen = observe(empty(4096), x)
    for share in (99.0, 99.9, 100.0):
        low, high = range_of(seen, "percentile", target=target("xla"), percentile=share)
        out, width = round((1 - share / 100) * x.size), 2.0**seen.exponent
        for end, values in ((-low, -np.sort(x)), (high, np.sort(x)[::-1])):
            assert values[out] <= end <= values[max(out - 1, 0)] + width
    positive = observe(empty(4096), np.abs(x))
    assert range_of(positive, "percentile", target=target("xla"))[0] == 0.0


def test_entropy_keeps_what_is_even_and_drops_what_is_rare(rng):
    even = rng.uniform(-1, 1, 100_000).astype(np.float32)
    low, high = range_of(observe(empty(2048), even), "entropy", target=target("xla"))
    assert low < -0.95 and high > 0.95
    rare = np.append(rng.normal(size=100_000), [-40.0, 40.0]).astype(np.float32)
    low, high = range_of(observe(empty(2048), rare), "entropy", target=target("xla"))
    assert -20 < low < -3 and 3 < high < 20


@pytest.mark.parametrize("ranges", ["minmax", "percentile", "entropy", "mse"])
@pytest.mark.parametrize("value", [0.0, 3.0, -2.0])
def test_a_constant_is_kept(ranges, value):
    seen = observe(empty(512), np.full(100, value, np.float32))
    low, high = range_of(seen, ranges, target=target("xla"))
    assert (low, high) == (min(value, 0.0), max(value, 0.0))


def test_unknown_ways_and_percentiles_are_refused():
    seen = observe(empty(64), np.ones(3, np.float32))
    with pytest.raises(ValueError, match="ranges must be one of minmax, percentile, entropy, mse"):
        range_of(seen, "max", target=target("xla"))
    for percentile in (50.0, 100.1, 0.9999):
        with pytest.raises(ValueError, match="percentile must be in"):
            range_of(seen, "percentile", target=target("xla"), percentile=percentile)
