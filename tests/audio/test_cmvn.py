"""Normalised features against kaldi-native-fbank and loops."""

import functools

import jax
import jax.numpy as jnp
import kaldi_native_fbank as knf
import numpy as np
import pytest

from jaxkit import Features
from jaxkit.audio.cmvn import (
    Statistics,
    _sums_before,
    _sums_before_in_steps,
    apply_cmvn,
    cmvn,
    collect_cmvn,
    merge_cmvn,
    sliding_cmvn,
)

FRAMES, BINS = 90, 4
LENGTHS = (90, 61, 2, 1, 0)
both = pytest.mark.parametrize("variance", [True, False])


def _values(rng, frames=FRAMES):
    return (rng.normal(3, 2, (frames, BINS)) * np.array([1, 0.01, 5, 2]) + np.arange(BINS)).astype(np.float32)


def _padded(values, length):
    return np.where(np.arange(len(values))[:, None] < length, values, np.float32(np.nan))


def _batch(values):
    lengths = jnp.array(LENGTHS, jnp.int32)
    return Features(jnp.stack([jnp.asarray(_padded(values, length)) for length in LENGTHS]), lengths)


@both
def test_cmvn_is_kaldis(rng, variance):
    values = _values(rng)
    ours = np.asarray(jax.jit(jax.vmap(functools.partial(cmvn, variance=variance)))(_batch(values)).values)
    for row, length in zip(ours, LENGTHS[:3], strict=False):
        statistics, options = knf.compute_cmvn_stats(values[:length]), knf.CmvnOptions(norm_vars=variance)
        expected = knf.apply_cmvn(statistics, options, values[:length])
        np.testing.assert_allclose(row[:length], expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(row[length:], 0)
    assert np.isfinite(ours).all()


def test_the_unbiased_variance_and_what_is_added_to_it(rng):
    values = _values(rng)
    expected = (values - values.mean(0)) / np.sqrt(values.var(0, ddof=1) + 0.5)
    made = jax.jit(functools.partial(cmvn, ddof=1, floor=0.0, epsilon=0.5))
    ours = made(Features(jnp.asarray(values)))
    np.testing.assert_allclose(ours.values, expected, atol=1e-5)
    assert ours.length is None


def test_a_constant_becomes_zero():
    constant = Features(jnp.full((50, 2), 0.1))
    np.testing.assert_array_equal(jax.jit(cmvn)(constant).values, 0)


def test_parts_of_a_corpus_merge_in_any_order(rng):
    values = _values(rng)
    parts = jax.jit(jax.vmap(collect_cmvn))(_batch(values))
    every = np.concatenate([values[:length] for length in LENGTHS]).astype(np.float64)
    expected = (len(every), every.mean(0), ((every - every.mean(0)) ** 2).sum(0))
    host = [Statistics(*(np.asarray(leaf)[i] for leaf in parts)) for i in range(len(LENGTHS))]
    in_parts = merge_cmvn(merge_cmvn(host[3], host[0]), merge_cmvn(host[4]), merge_cmvn(*host[1:3]))
    for merged in (merge_cmvn(parts), merge_cmvn(*host), in_parts):
        for ours, theirs in zip(merged, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert in_parts.mean.dtype == np.float64


@both
def test_a_corpus_is_applied_as_in_kaldi(rng, variance):
    values = _values(rng)
    accumulated = knf.CmvnAccumulator(BINS)
    for part in (values[:30], values[30:]):
        accumulated.accumulate(part)
    expected = knf.apply_cmvn(accumulated.stats, knf.CmvnOptions(norm_vars=variance), values)
    merged = merge_cmvn(collect_cmvn(Features(jnp.asarray(values))))
    for statistics in (merged, Statistics(*map(np.asarray, merged))):
        ours = apply_cmvn(statistics, Features(jnp.asarray(_padded(values, 70)), jnp.int32(70)), variance=variance)
        np.testing.assert_allclose(ours.values[:70], expected[:70], rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(ours.values[70:], 0)


def _sliding(values, window, least, center, variance):
    """The loop over frames that Kaldi's documentation describes."""
    out = np.zeros_like(values, np.float64)
    for i in range(len(values)):
        start, stop = (i - window // 2, i - window // 2 + window) if center else (i - window, i + 1)
        if start < 0:
            start, stop = 0, stop - start
        if not center and stop > i:
            stop = max(i + 1, least)
        if stop > len(values):
            start, stop = max(start - (stop - len(values)), 0), len(values)
        part = values[start:stop].astype(np.float64)
        out[i] = values[i] - part.mean(0)
        if variance:
            out[i] *= 0 if stop - start == 1 else 1 / np.sqrt(np.maximum(part.var(0), 1e-10))
    return out


@pytest.mark.parametrize(
    "window, least, center, variance",
    [(20, 7, False, True), (6, 30, False, False), (21, 1, True, True), (300, 9, True, False)],
)
def test_sliding_windows_equal_a_loop(rng, window, least, center, variance):
    values = _values(rng)
    settings = {"window": window, "min_window": least, "center": center, "variance": variance}
    ours = jax.jit(jax.vmap(functools.partial(sliding_cmvn, **settings)))(_batch(values)).values
    for row, length in zip(np.asarray(ours), LENGTHS, strict=True):
        expected = _sliding(values[:length], window, least, center, variance)
        np.testing.assert_allclose(row[:length], expected, rtol=1e-3, atol=1e-3)
        np.testing.assert_array_equal(row[length:], 0)


def test_sliding_windows_do_not_drift_in_a_long_clip(rng):
    values = _values(rng, 60_000)
    values[:30_000] *= 100
    ours = np.asarray(jax.jit(functools.partial(sliding_cmvn, center=True))(Features(jnp.asarray(values))).values)
    for i in (400, 31_000, 59_500):
        expected = values[i] - values[i - 300 : i + 300].astype(np.float64).mean(0)
        np.testing.assert_allclose(ours[i], expected, atol=2e-3)


def test_the_sums_of_accelerators_are_those_of_the_cpu(rng):
    values = jnp.asarray(rng.integers(-9, 9, (3, 5, 2)), jnp.float32)
    expected = np.cumsum(values, axis=1) - np.asarray(values)
    for form in (_sums_before, _sums_before_in_steps):
        np.testing.assert_array_equal(form(values), expected)


@pytest.mark.parametrize("settings", [{"window": 0}, {"min_window": 1.5}, {"center": "yes"}])
def test_wrong_settings_are_refused(settings):
    with pytest.raises(ValueError, match=str(*settings.values())):
        sliding_cmvn(Features(jnp.zeros((3, 2))), **settings)
    with pytest.raises(ValueError, match="at least one"):
        merge_cmvn()
