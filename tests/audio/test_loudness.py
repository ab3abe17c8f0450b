"""Loudness against pyloudnorm and the published cases of ITU-R BS.1770 and EBU Tech 3341."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pyloudnorm
import pytest

from jaxkit import Clip
from jaxkit.audio.loudness import loudness, normalize_loudness
from tests.audio.speech import clips

RATE = 16000
SIZE = 100 * RATE
# One channel has half the power of the two that the published cases are for.
ONE_CHANNEL = -10 * np.log10(2)
LOUDNESS = jax.jit(loudness)
NORMALIZED = jax.jit(normalize_loudness().apply)


def _padded(wave):
    padded = np.pad(wave.astype(np.float32), (0, SIZE - len(wave)), constant_values=np.nan)
    return Clip(jnp.asarray(padded), jnp.int32(len(wave)))


def _tone(*parts, frequency=997.0, rate=RATE):
    """A tone of pieces `(seconds, level of its peak in dBFS)`."""
    level = np.concatenate([np.full(round(seconds * rate), 10 ** (db / 20)) for seconds, db in parts])
    return level * np.sin(2 * np.pi * frequency * np.arange(len(level)) / rate)


@pytest.mark.parametrize("db", [0.0, -20.0, -60.0])
def test_a_tone_at_full_scale_has_minus_3_01(db):
    tone = jnp.asarray(_tone((2, db), rate=48000), jnp.float32)
    assert abs(float(LOUDNESS(Clip(tone, rate=48000))) - (db - 3.01)) < 0.005


CASES = {
    "1": ([(20, -23)], -23),
    "2": ([(20, -33)], -33),
    "3": ([(10, -36), (60, -23), (10, -36)], -23),
    "4": ([(10, -72), (10, -36), (60, -23), (10, -36), (10, -72)], -23),
    "5": ([(20, -26), (20.1, -20), (20, -26)], -23),
}


@pytest.mark.parametrize("case", CASES)
def test_the_published_cases(case):
    parts, expected = CASES[case]
    wave = _tone(*parts, frequency=1000.0)
    assert abs(float(LOUDNESS(_padded(wave))) - (expected + ONE_CHANNEL)) < 0.1


@pytest.mark.parametrize("factor", [1.0, 1e-2])
def test_speech_is_pyloudnorms(factor):
    meter = pyloudnorm.Meter(RATE, filter_class="DeMan")
    for name, wave in clips()[:4]:
        # pyloudnorm counts a last block of which a part is missing; whole steps leave none.
        wave = wave[: len(wave) // (RATE // 10) * (RATE // 10)] * np.float32(factor)
        assert abs(float(LOUDNESS(_padded(wave))) - meter.integrated_loudness(wave.astype(float))) < 0.01, name


@pytest.mark.parametrize("rate", [8000, 44100, 48000])
def test_other_rates_are_pyloudnorms(rate, rng):
    wave = np.cumsum(rng.normal(0, 1e-3, 3 * rate))
    wave = (wave - np.linspace(0, wave[-1], len(wave))) + _tone((3, -30), rate=rate)
    ours = jax.jit(loudness)(Clip(jnp.asarray(wave, jnp.float32), rate=rate))
    expected = pyloudnorm.Meter(rate, filter_class="DeMan").integrated_loudness(wave)
    assert abs(float(ours) - expected) < 0.01


def test_what_has_no_loudness_is_told_and_left_as_it_is(rng):
    short = rng.normal(0, 0.1, 4 * RATE // 10 - 1)
    for wave in (short, np.zeros(RATE), np.zeros(0), _tone((1, -75))):
        assert float(LOUDNESS(_padded(wave))) == -np.inf
        same = NORMALIZED(jnp.float32(-20.0), _padded(wave)).wave
        np.testing.assert_array_equal(same[: len(wave)], wave.astype(np.float32))
    assert np.isfinite(float(LOUDNESS(_padded(np.append(short, 0.1)))))


@pytest.mark.parametrize("target", [-31.0, -13.0])
def test_normalised_clips_have_the_loudness(target):
    for _, wave in clips()[:2]:
        out = NORMALIZED(jnp.float32(target), _padded(wave))
        assert abs(float(LOUDNESS(out)) - target) < 1e-3
        gains = np.asarray(out.wave)[: len(wave)] / np.where(wave == 0, 1, wave)
        np.testing.assert_allclose(gains[np.abs(wave) > 1e-3], np.median(gains), rtol=1e-5)


def test_draws_have_the_given_range():
    op = normalize_loudness(lufs=(-25.0, -20.0))
    drawn = jax.vmap(functools.partial(op.draw, spec=None))(jax.random.split(jax.random.key(0), 64))
    assert -25 <= drawn.min() < -24.5 and -20.5 < drawn.max() <= -20


def test_what_cannot_be_weighted_is_refused():
    with pytest.raises(ValueError, match="at least 4000 Hz"):
        loudness(Clip(jnp.zeros(10), rate=2000))
    with pytest.raises(ValueError, match="lufs"):
        normalize_loudness(lufs=-20)
