"""Arrivals: a Poisson process for each body, the same whatever else is asked."""

import jax
import numpy as np
import pytest
from scipy import stats

from jaxkit.sampling.arrival import LANES, MOST_SLOTS, SLOT, arrivals
from jaxkit.sampling.counter import stream

BODIES = 100_000
BODY = np.arange(BODIES, dtype=np.uint32)


def _arrivals(rate, high, *, low=0.0, seed=0, even=False, body=BODY):
    key = stream(jax.random.key(seed), "test")
    rate = np.broadcast_to(np.float32(rate), body.shape)
    return arrivals(key, body, rate, np.float32(low), np.float32(high), even=even)


@pytest.mark.parametrize("mean", [0.003, 0.4, 1.0, 6.0, 8.0, 8.1, 20.0])
def test_counts_are_poisson(mean):
    body = BODY[: 100_000 if mean < 5 else 20_000]
    counts = np.bincount(_arrivals(mean / 2, 2.0, body=body).row, minlength=len(body))
    expected = len(body) * stats.poisson.pmf(np.arange(100), mean)
    first, last = np.nonzero(expected > 10)[0][[0, -1]]
    fold = lambda v: np.r_[v[: first + 1].sum(), v[first + 1 : last], v[last:].sum()]  # noqa: E731
    seen, due = fold(np.bincount(counts, minlength=100)), fold(expected)
    assert stats.chisquare(seen, due * seen.sum() / due.sum()).pvalue > 1e-6


@pytest.mark.parametrize("rate", [1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("even", [False, True])
def test_tiny_rates_are_not_rounded_away(rate, even):
    """The first arrival of each body, before a time in which a body expects 0.01, and all of them 1000."""
    fallen = _arrivals(rate, 0.01 / rate, even=even)
    assert abs(len(fallen.time) - 1000) < 5 * np.sqrt(1000)
    assert stats.kstest(fallen.time.astype(np.float64) * rate / 0.01, "uniform").pvalue > 1e-6


@pytest.mark.parametrize("rate", [0.3, 5.0, 60.0])
def test_times_are_uniform_and_numbers_unique(rate):
    fallen = _arrivals(rate, 1.0, body=BODY[:2000], seed=4)
    assert stats.kstest(fallen.time.astype(np.float64), "uniform").pvalue > 1e-6
    number = fallen.row.astype(np.int64) << 32 | fallen.lane
    assert len(np.unique(number)) == len(number)
    assert (fallen.lane % LANES).max() < 48


def test_a_single_long_process_has_independent_exponential_gaps():
    time = np.sort(_arrivals(1.0, 200_000.0, body=BODY[7:8], seed=5).time.astype(np.float64))
    # The times are float32: gaps are looked at where they are much longer than its steps.
    gaps = np.diff(time[time < 20_000])
    assert stats.kstest(gaps, "expon").pvalue > 1e-6
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 5 / np.sqrt(len(gaps))
    counts = np.bincount((time // 50).astype(int), minlength=4000)[:4000]
    assert abs(counts.var() / counts.mean() - 1) < 5 * np.sqrt(2 / 4000)


@pytest.mark.parametrize("even", [False, True])
def test_later_and_earlier_arrivals_make_all(even):
    rate = 10 ** np.random.default_rng(1).uniform(-3, 1.5, 3000).astype(np.float32)
    whole = _arrivals(rate, 3.0, body=BODY[:3000], even=even)
    parts = [_arrivals(rate, high, low=low, body=BODY[:3000], even=even) for low, high in ((0, 1.1), (1.1, 3.0))]
    joined = np.concatenate([np.rec.fromarrays(part) for part in parts])
    np.testing.assert_array_equal(np.sort(joined), np.sort(np.rec.fromarrays(whole)))


def test_bodies_do_not_see_each_other():
    rate = np.linspace(0.1, 20, 1000, dtype=np.float32)
    whole = _arrivals(rate, 1.0, body=BODY[:1000])
    alone = _arrivals(rate[600:700], 1.0, body=BODY[600:700])
    chosen = (whole.row >= 600) & (whole.row < 700)
    expected = np.rec.fromarrays([whole.row[chosen] - 600, whole.lane[chosen], whole.time[chosen]])
    np.testing.assert_array_equal(np.sort(np.rec.fromarrays(alone)), np.sort(expected))


@pytest.mark.parametrize("mean", [0.3, 2.7, 8.0, 31.4])
def test_even_counts_are_the_mean_rounded_up_or_down(mean):
    counts = np.bincount(_arrivals(mean, 1.0, even=True, body=BODY[:20_000]).row, minlength=20_000)
    assert (np.abs(counts - mean) < 1 + 1e-5).all()
    part = mean % 1
    assert abs(counts.mean() - mean) <= 5 * np.sqrt(part * (1 - part) / 20_000) + 1e-5


def test_no_rate_and_no_time_give_nothing():
    assert len(_arrivals(0.0, 5.0).time) == len(_arrivals(1.0, 0.0).time) == 0


def test_too_many_points_are_refused():
    with pytest.raises(ValueError, match="ask for fewer"):
        _arrivals(1.0, SLOT * MOST_SLOTS * 1.01, body=BODY[:1])
