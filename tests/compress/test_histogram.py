"""Histograms in bounded memory: what NumPy counts, whatever the parts and their order."""

import numpy as np
import pytest

from jaxkit.compress.histogram import empty, merge, observe


def _same(one, other):
    np.testing.assert_array_equal(one.counts, other.counts)
    assert one._replace(counts=0) == other._replace(counts=0)


@pytest.mark.parametrize("low, high", [(-3.0, 5.0), (0.0, 6.0), (-1e-30, 0.0), (900.0, 1000.0), (-1e30, 1e38)])
def test_counts_are_those_of_numpy(rng, low, high):
    x = rng.uniform(low, high, (50, 40)).astype(np.float32)
    x[:, 0] = 0.0
    found = observe(empty(256), x)
    edges = (found.first + np.arange(len(found.counts) + 1)) * 2.0**found.exponent
    np.testing.assert_array_equal(found.counts, np.histogram(x[x != 0], edges)[0])
    assert found.zeros == 50 and found.total == x.size
    assert (found.low, found.high) == (min(x.min(), 0), max(x.max(), 0))
    # No finer bins of a width that is a power of two would have been enough.
    assert 127 <= len(found.counts) <= 256


def test_parts_in_any_order_give_the_histogram_of_the_whole(rng):
    parts = [rng.normal(scale=scale, size=300).astype(np.float32) for scale in (1e-3, 50, 1, 1e4, 0)]
    whole = observe(empty(128), np.concatenate(parts))
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 3, 1]):
        streamed = merged = empty(128)
        for part in order:
            streamed = observe(streamed, parts[part])
            merged = merge(observe(empty(128), parts[part]), merged)
        _same(streamed, whole)
        _same(merged, whole)


def test_the_smallest_and_no_numbers_are_counted():
    tiny = np.float32(2.0**-149) * np.arange(-3, 4, dtype=np.float32)
    found = observe(observe(empty(64), np.zeros((0, 3), np.float32)), tiny)
    assert found.total == 7 and found.zeros == 1
    assert observe(found, np.float32([1.0])).total == 8


def test_centres_stay_within_what_occurred():
    found = observe(empty(64), np.float32([0.1, 6.0, 6.0, 6.0]))
    assert found.centres()[-1] == 6.0
    assert np.all(np.diff(found.centres()) > 0)


@pytest.mark.parametrize("bins", [63, 2048.0, True])
def test_too_few_bins_are_refused(bins):
    with pytest.raises(ValueError, match="bins must be an int of at least 64"):
        empty(bins)


def test_histograms_of_other_bins_do_not_merge():
    with pytest.raises(ValueError, match="64 and 128 bins do not merge"):
        merge(empty(64), empty(128))
