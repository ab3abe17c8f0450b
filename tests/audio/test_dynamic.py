"""Ratios of each example's own against sums of tones, fixed ratios, and laws."""

import functools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.dynamic import length_by, resample_by
from jaxkit.audio.resample import resample
from tests.audio.tones import ratio_db, tones

SAMPLES = 8000
RATIOS = np.array([0.9, 1.1, 1.0, 0.5, 2.0, 0.7371, 1.618, 1.25], np.float32)
EDGE = 400
ROUND = {"ceil": math.ceil, "round": lambda value: math.floor(value + Fraction(1, 2)), "floor": math.floor}
BATCH = jax.jit(jax.vmap(resample_by))


def _clips(waves, lengths=None):
    lengths = np.full(len(waves), SAMPLES) if lengths is None else lengths
    return Clip(jnp.asarray(waves, jnp.float32), jnp.asarray(lengths, jnp.int32))


def test_each_example_is_read_at_its_own_ratio_by_one_program(rng, programs):
    sounds = [tones(rng, below=0.45 / max(1.0, ratio)) for ratio in RATIOS]
    waves = np.stack([sound.at(np.arange(SAMPLES)) for sound in sounds])
    made = BATCH(_clips(waves), RATIOS)
    assert made.wave.shape == (len(RATIOS), 2 * SAMPLES)
    for sound, ratio, got, size in zip(sounds, RATIOS, np.asarray(made.wave), np.asarray(made.length), strict=True):
        assert size == ROUND["round"](SAMPLES / Fraction(float(ratio)))
        assert ratio_db(sound.at(np.arange(size) * np.float64(ratio)), got[:size], edge=EDGE) > 103
        np.testing.assert_array_equal(got[size:], 0)
    clips, before = _clips(waves), len(programs)
    BATCH(clips, RATIOS[::-1].copy())
    assert programs[before:] == []


@pytest.mark.parametrize("index, rate", [(4, 8000), (3, 32000), (7, 12800)])
def test_a_rational_ratio_is_resampling(index, rate, rng):
    waves = rng.normal(0, 0.1, (len(RATIOS), SAMPLES))
    ours = np.asarray(BATCH(_clips(waves), RATIOS).wave[index])
    fixed = jax.jit(functools.partial(resample, rate=rate))(Clip(jnp.asarray(waves[index], jnp.float32))).wave
    assert ratio_db(fixed, ours[: len(fixed)]) > 100


def test_nothing_folds_back():
    time, top = np.arange(SAMPLES), 0.5 / RATIOS
    waves = np.sin(2 * np.pi * np.minimum(1.01 * top, 0.499)[:, None] * time) * np.hanning(SAMPLES) ** 2
    made = np.asarray(BATCH(_clips(waves), RATIOS).wave)
    assert 20 * np.log10(np.abs(made[RATIOS > 1.02]).max()) < -100


def test_padding_and_company_change_nothing(rng):
    lengths = np.array([SAMPLES, 5000, 4097, 1, 0, 7999, 2, 6000])
    waves = rng.normal(0, 0.1, (len(RATIOS), SAMPLES)).astype(np.float32)
    outside = np.arange(SAMPLES) >= lengths[:, None]
    quiet, padded = (BATCH(_clips(np.where(outside, fill, waves), lengths), RATIOS) for fill in (0, np.nan))
    np.testing.assert_array_equal(quiet.wave, padded.wave)
    cut = Clip(jnp.asarray(waves[1, :5000]))
    alone = jax.jit(resample_by)(cut, RATIOS[1])
    assert alone.length == padded.length[1]
    np.testing.assert_allclose(alone.wave[:4545], padded.wave[1, :4545], atol=2e-7)
    for index, ratio in enumerate(RATIOS):
        size = ROUND["round"](int(lengths[index]) / Fraction(float(ratio)))
        assert padded.length[index] == size
        np.testing.assert_array_equal(np.asarray(padded.wave[index])[size:], 0)


@pytest.mark.parametrize("mode", ROUND)
def test_the_length_is_exact(mode, rng):
    samples = np.array([0, 1, 2, 3, 9, 10, 11, 2**24 + 1, 2**26, *rng.integers(0, 2**27, 50)], np.int32)
    ratios = np.array([0.5, 0.9, 1.0, 1.1, 1 / 3, 1.5, 2.0, 0.0625], np.float32)
    program = jax.jit(jax.vmap(functools.partial(length_by, mode=mode), (0, None)))
    for ratio in ratios:
        expected = [ROUND[mode](int(n) / Fraction(float(ratio))) for n in samples]
        np.testing.assert_array_equal(program(samples, ratio), expected)


def test_derivatives_follow_differences(rng):
    wave, weights = (jnp.asarray(rng.normal(0, 0.1, n), jnp.float32) for n in (3000, 6000))
    sound = jnp.asarray(tones(rng, below=0.2).at(np.arange(3000)), jnp.float32)

    @jax.jit
    def loss(wave, ratio):
        return jnp.vdot(resample_by(Clip(wave), ratio).wave, weights)

    slopes = jax.jit(jax.grad(loss, (0, 1)))
    ratio = jnp.float32(1.1)
    np.testing.assert_allclose(jnp.vdot(slopes(wave, ratio)[0], wave), loss(wave, ratio), rtol=1e-3)
    step = np.float32(2e-6)
    by_hand = (loss(sound, np.float32(1.1) + step) - loss(sound, np.float32(1.1) - step)) / (2 * step)
    np.testing.assert_allclose(slopes(sound, ratio)[1], by_hand, rtol=0.1)
    assert all(np.isfinite(slope).all() for slope in slopes(jnp.zeros(3000), jnp.float32(1.0)))


@pytest.mark.parametrize("ratios", [(0.0, 1.0), (1.2, 0.9), (1.0, 65.0), 1.1])
def test_wrong_ratios_are_refused(ratios):
    with pytest.raises(ValueError, match="ratios"):
        resample_by(Clip(jnp.zeros(4)), jnp.float32(1.0), ratios=ratios)
