"""The phase vocoder, alone and with a change of rate, on tones and speech."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip, batch
from jaxkit.audio.stretch import pitch_shift, time_stretch
from jaxkit.audio.vocoder import stretch_by
from tests.audio.speech import clips
from tests.audio.tones import ratio_db

SAMPLES = 12000
TONE = 0.0501
FACTORS = np.array([0.8, 1.0, 1.25, 1.1, 0.93], np.float32)
SEMITONES = np.array([-4, 0, 4, 1.5, -0.7], np.float32)
LENGTHS = np.array([SAMPLES, SAMPLES, 9000, 8001, 10000])
STRETCH, SHIFT = batch(time_stretch()), batch(pitch_shift())


def _clips():
    time = np.arange(SAMPLES)
    waves = np.where(time < LENGTHS[:, None], 0.3 * np.sin(2 * np.pi * TONE * time), np.nan)
    return Clip(jnp.asarray(waves, jnp.float32), jnp.asarray(LENGTHS, jnp.int32))


def _frequency(wave):
    """Of the strongest tone, in cycles per sample, by a parabola through the peak."""
    power = np.log(np.abs(np.fft.rfft(wave * np.hanning(len(wave)))) + 1e-12)
    peak = power[1:-1].argmax() + 1
    left, middle, right = power[peak - 1 : peak + 2]
    return (peak + 0.5 * (left - right) / (left - 2 * middle + right)) / len(wave)


def _loudness(wave):
    return np.sqrt(np.mean(wave[2000:6000].astype(np.float64) ** 2))


def test_stretching_keeps_the_pitch():
    made = STRETCH.apply(FACTORS, _clips())
    assert made.wave.shape == (len(FACTORS), 15000)
    for wave, size, factor, samples in zip(np.asarray(made.wave), made.length, FACTORS, LENGTHS, strict=True):
        assert size == int(samples / np.float64(factor) + 0.5)
        np.testing.assert_allclose(_frequency(wave[:size]), TONE, rtol=1e-3)
        np.testing.assert_allclose(_loudness(wave), 0.3 / np.sqrt(2), rtol=0.02)
        np.testing.assert_array_equal(wave[size:], 0)


def test_shifting_moves_the_pitch_and_keeps_the_duration():
    clips = _clips()
    made = SHIFT.apply(SEMITONES, clips)
    np.testing.assert_array_equal(made.length, LENGTHS)
    for wave, size, semitones in zip(np.asarray(made.wave), LENGTHS, SEMITONES, strict=True):
        np.testing.assert_allclose(_frequency(wave[:size]), TONE * 2 ** (semitones / 12), rtol=1e-3)
        np.testing.assert_allclose(_loudness(wave), 0.3 / np.sqrt(2), rtol=0.03)
        np.testing.assert_array_equal(wave[size:], 0)
    np.testing.assert_array_equal(made.wave[1], clips.wave[1])


def test_a_factor_of_one_is_the_wave():
    clips = _clips()
    np.testing.assert_array_equal(STRETCH.apply(FACTORS, clips).wave[1, :SAMPLES], clips.wave[1])


def test_the_vocoder_itself_gives_speech_back_at_one():
    _, wave = clips()[0]
    made = jax.jit(stretch_by)(Clip(jnp.asarray(wave)), jnp.float32(1))
    assert made.length == len(wave)
    assert ratio_db(wave, made.wave[: len(wave)]) > 80


def test_sounds_stay_where_they_were_in_proportion():
    clicks = np.zeros(SAMPLES, np.float32)
    places = np.array([1500, 5000, 9500])
    clicks[places] = 1.0
    waves = Clip(jnp.asarray(np.stack([clicks] * 5)), jnp.full(5, SAMPLES, jnp.int32))
    for made, scale in ((STRETCH.apply(FACTORS, waves), 1 / FACTORS), (SHIFT.apply(SEMITONES, waves), np.ones(5))):
        for wave, factor in zip(np.asarray(made.wave), scale, strict=True):
            power = np.convolve(wave.astype(np.float64) ** 2, np.ones(200), "same")
            found = [place - 900 + power[place - 900 : place + 900].argmax() for place in (places * factor).astype(int)]
            np.testing.assert_allclose(found, places * factor, atol=300)


def test_a_clip_alone_is_the_clip_in_a_batch(rng):
    noise = np.where(np.arange(SAMPLES) < LENGTHS[:, None], rng.normal(0, 0.1, (5, SAMPLES)), np.nan)
    padded = Clip(jnp.asarray(noise, jnp.float32), jnp.asarray(LENGTHS, jnp.int32))
    alone = Clip(padded.wave[2, :9000])
    for op, whole, params in ((time_stretch(), STRETCH, FACTORS), (pitch_shift(), SHIFT, SEMITONES)):
        made, own = whole.apply(params, padded), jax.jit(op.apply)(params[2], alone)
        size = int(made.length[2])
        np.testing.assert_allclose(own.wave[:size], made.wave[2, :size], atol=2e-5)


def test_derivatives_are_finite_in_silence_and_in_sound(rng):
    loss = lambda params, wave: jnp.sum(pitch_shift().apply(params, Clip(wave)).wave ** 2)  # noqa: E731
    slopes = jax.jit(jax.grad(loss, (0, 1)))
    for wave in (np.zeros(3000), rng.normal(0, 0.1, 3000), np.full(3000, 1e-30), np.full(3000, 1e4)):
        assert all(np.isfinite(slope).all() for slope in slopes(jnp.float32(1.1), jnp.asarray(wave, jnp.float32)))


@pytest.mark.parametrize(
    "factory, settings, shown",
    [
        (time_stretch, {"factor": (0.0, 1.0)}, "(0.0, 1.0)"),
        (pitch_shift, {"semitones": (4, -4)}, "(4, -4)"),
        (pitch_shift, {"semitones": (0, 37)}, "(0, 37)"),
    ],
)
def test_wrong_ranges_are_refused(factory, settings, shown):
    with pytest.raises(ValueError) as raised:
        factory(**settings)
    assert shown in str(raised.value)


def test_a_window_that_cannot_be_quartered_is_refused():
    with pytest.raises(ValueError, match="multiple of 8, got 1023"):
        stretch_by(Clip(jnp.zeros(4)), jnp.float32(1), n_fft=1023)
