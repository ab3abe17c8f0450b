"""White and coloured noise: ratio, distribution, whiteness, and the slope of the spectrum in octaves."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.signal
import scipy.stats

from jaxkit import Clip, batch
from jaxkit.audio.coloured import coloured, coloured_noise, gaussian_snr
from tests.audio.speech import clips

SIZE = 40000
LENGTHS = (40000, 31000, 501, 1, 0)
RATE = 16000


@functools.cache
def _op(name):
    return batch({"gaussian_snr": gaussian_snr, "coloured_noise": coloured_noise}[name](snr_db=(-5.0, 30.0)))


def _speech():
    wave = np.stack([np.resize(speech[8000:], SIZE) for _, speech in (clips() * 5)[:5]])
    return Clip(jnp.asarray(wave), jnp.asarray(LENGTHS, jnp.int32))


@functools.cache
def _waves():
    """Noise `[5, 40000]` for the exponents -2, -1, 0, 1, 2."""
    make = jax.vmap(lambda seed, power: coloured(seed, power, SIZE, rate=RATE))
    seeds = jnp.asarray(np.random.default_rng(5).integers(0, 2**32, (5, 2)), jnp.uint32)
    return np.asarray(jax.jit(make)(seeds, jnp.arange(-2.0, 3.0)), np.float64)


@pytest.mark.parametrize("name", ["gaussian_snr", "coloured_noise"])
def test_the_ratio_is_what_was_drawn_and_silence_stays(name):
    clip, op = _speech(), _op(name)
    params = op.draw(jax.random.key(1), np.arange(5), clip)
    wave, noisy = (np.asarray(value, np.float64) for value in (clip.wave, op.apply(params, clip).wave))
    for i, size in enumerate(LENGTHS):
        added = noisy[i, :size] - wave[i, :size]
        np.testing.assert_array_equal(noisy[i, size:], 0)
        if size > 1:
            ratio = 10 * np.log10((wave[i, :size] ** 2).sum() / (added**2).sum())
            np.testing.assert_allclose(ratio, params["snr_db"][i], atol=1e-3)
    np.testing.assert_array_equal(op.apply(params, clip.replace(wave=jnp.zeros_like(clip.wave))).wave, 0)


def test_white_noise_is_normal_and_white():
    clip, op = _speech(), _op("gaussian_snr")
    params = op.draw(jax.random.key(2), np.arange(5), clip)
    params["snr_db"] = jnp.zeros(5)
    added = np.asarray(op.apply(params, clip).wave - clip.wave, np.float64)[0]
    assert scipy.stats.kstest(added / added.std(), "norm").pvalue > 1e-3
    density = scipy.signal.welch(added, RATE, nperseg=1024)[1][2:-2]
    assert np.abs(10 * np.log10(density / density.mean())).max() < 4


@pytest.mark.parametrize("power", [-2, -1, 0, 1, 2])
def test_each_octave_has_the_slope_that_was_asked(power):
    wave = _waves()[power + 2]
    frequency, density = scipy.signal.welch(wave, RATE, nperseg=4096, window="blackmanharris")
    levels = []
    for low in 62.5 * 2.0 ** np.arange(7):
        # White noise has three decibels more in each octave, as the octave is twice as wide.
        levels.append(10 * np.log10(density[(frequency >= low) & (frequency < 2 * low)].sum()))
    np.testing.assert_allclose(np.diff(levels), 10 * np.log10(2) * (1 + power), atol=1.0)
    np.testing.assert_allclose(np.polyfit(np.arange(7), levels, 1)[0], 10 * np.log10(2) * (1 + power), atol=0.3)


def test_blocks_fade_with_constant_power_and_a_longer_wave_starts_as_a_shorter_one():
    white = _waves()[2]
    parts = white[: 39 * 1024].reshape(39, 1024).std(axis=1)
    assert 0.85 < parts.min() / parts.mean() and parts.max() / parts.mean() < 1.15
    make = jax.jit(coloured, static_argnums=2, static_argnames="rate")
    short, long = (make(np.array([3, 4], np.uint32), np.float32(-1), n, rate=RATE) for n in (9000, 20000))
    np.testing.assert_allclose(np.asarray(long)[:9000], short, atol=1e-6 * np.abs(short).max())


@pytest.mark.parametrize(
    "maker, settings",
    [(gaussian_snr, {"snr_db": (9, 5)}), (coloured_noise, {"exponent": (0, 9)}), (coloured_noise, {"snr_db": 5})],
)
def test_wrong_recipes_are_refused(maker, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        maker(**settings)
