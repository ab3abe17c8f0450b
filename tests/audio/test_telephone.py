"""A telephone line, by what tones and speech become on it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import signal

from jaxkit import Clip
from jaxkit.audio.telephone import telephone
from tests.audio.speech import clips

RATE, SIZE = 16000, 16_000
BAND = (jnp.float32(300.0), jnp.float32(3400.0))
LINES = {law: jax.jit(telephone(law=law).apply) for law in ("mu", "a", "none")}


def _clip(wave, size=SIZE):
    return Clip(jnp.asarray(wave, jnp.float32), jnp.int32(size))


def _level(wave):
    return 10 * np.log10(np.mean(np.square(np.asarray(wave, np.float64)[2000:14_000])))


@pytest.mark.parametrize(
    "frequency, most, least",
    [(60, -50, -70), (300, -2, -4), (1000, 0.1, -0.1), (3700, -20, -30), (4300, -80, -900), (6000, -80, -900)],
)
def test_tones_pass_within_the_band(frequency, most, least):
    tone = 0.3 * np.sin(2 * np.pi * frequency * np.arange(SIZE) / RATE)
    out = LINES["none"](BAND, _clip(tone))
    assert least <= max(_level(out.wave), -300) - _level(tone) <= most


def test_the_filters_are_scipys():
    wave = clips()[0][1][:SIZE]
    narrow = Clip(jnp.asarray(wave), rate=8000)
    sos = np.concatenate(
        [signal.butter(4, 300, "highpass", fs=8000, output="sos"), signal.butter(4, 3400, fs=8000, output="sos")]
    )
    expected = signal.sosfilt(sos, wave.astype(float))
    np.testing.assert_allclose(LINES["none"](BAND, narrow).wave, expected, atol=2e-6)


@pytest.mark.parametrize("law", ["a"])
def test_codes_cost_what_8_bits_cost(law):
    wave = clips()[0][1][:SIZE]
    wave = wave / np.abs(wave).max() * 0.5
    clean, coded = (np.asarray(LINES[kind](BAND, _clip(wave)).wave) for kind in ("none", law))
    assert 25 < _level(clean) - _level(coded - clean) < 45


def test_the_length_stays_and_the_padding_is_silent(rng):
    wave = np.append(rng.normal(0, 0.1, 10_001), np.full(SIZE - 10_001, np.nan)).astype(np.float32)
    out = LINES["a"](BAND, _clip(wave, 10_001))
    assert out.wave.shape == (SIZE,) and int(out.length) == 10_001
    assert np.isfinite(out.wave).all()
    np.testing.assert_array_equal(out.wave[10_001:], 0)


def test_wrong_recipes_are_refused():
    with pytest.raises(ValueError, match="low must stay below high"):
        telephone(low=(300, 3000), high=(3000, 3400))
    with pytest.raises(ValueError, match="high must lie within"):
        telephone(high=(3000, 4000))
    with pytest.raises(ValueError, match="law must be one of mu, a, none, got 'u'"):
        telephone(law="u")
