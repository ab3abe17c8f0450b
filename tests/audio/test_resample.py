"""Change of rate against sums of tones, soxr, and laws."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import soxr

from jaxkit import Clip
from jaxkit.audio.resample import resample
from tests.audio.speech import clips
from tests.audio.tones import ratio_db, tones

RATES = [(48000, 16000), (44100, 16000), (8000, 16000), (16000, 48000), (22050, 16000), (11025, 48000), (16001, 16000)]
EDGE = 400


@functools.cache
def _program(rate, *, mode="ceil"):
    return jax.jit(functools.partial(resample, rate=rate, mode=mode))


def _resampled(wave, old, new):
    return np.asarray(_program(new)(Clip(jnp.asarray(wave, jnp.float32), rate=old)).wave)


@pytest.mark.parametrize("old, new", RATES)
def test_what_the_pass_band_holds_is_read_between_the_samples(old, new, rng):
    truth = tones(rng, below=0.45 * min(1.0, new / old))
    wave = truth.at(np.arange(old // 2 + 7))
    got = _resampled(wave, old, new)
    assert len(got) == -(-(old // 2 + 7) * new // old)
    assert ratio_db(truth.at(np.arange(len(got)) * old / new), got, edge=EDGE) > 105


# At ratios of larger integers soxr itself is 60 to 95 dB away from the truth towards the end of the pass band.
@pytest.mark.parametrize(
    "old, new, top", [(48000, 16000, 0.45), (16000, 48000, 0.45), (44100, 16000, 0.2), (22050, 16000, 0.2)]
)
def test_noise_comes_out_as_from_soxr(old, new, top, rng):
    samples = old // 2 + 7
    spectrum = np.fft.rfft(rng.normal(0, 0.1, samples))
    spectrum[np.fft.rfftfreq(samples, 1 / old) > top * min(old, new)] = 0
    wave = np.fft.irfft(spectrum, samples)
    theirs = soxr.resample(wave, old, new, quality="HQ")
    ours = _resampled(wave, old, new)[: len(theirs)]
    assert ratio_db(theirs, ours, edge=EDGE) > 100


@pytest.mark.parametrize("new", [8000, 48000])
def test_speech_comes_out_as_from_soxr(new):
    _, wave = clips()[0]
    theirs = soxr.resample(wave.astype(np.float64), 16000, new, quality="HQ")
    ours = _resampled(wave, 16000, new)[: len(theirs)]
    # What lies in the transition band may differ, so that only the frequencies below it are compared.
    passed = np.fft.rfftfreq(len(theirs), 1 / new) < 0.45 * min(16000, new)
    spectra = [np.fft.rfft(each.astype(np.float64))[passed] for each in (theirs, ours)]
    assert 10 * np.log10(np.sum(np.abs(spectra[0]) ** 2) / np.sum(np.abs(spectra[0] - spectra[1]) ** 2)) > 100


def _swept(old, new, frequencies):
    """Swelling tones `[N, T]` of frequencies in Hz, and how they come out."""
    time = np.arange(old // 4)
    swell = np.hanning(len(time)) ** 2
    waves = (np.sin(2 * np.pi * frequencies[:, None] * time / old) * swell).astype(np.float32)
    made = jax.jit(jax.vmap(lambda wave: resample(Clip(wave, rate=old), new).wave))(waves)
    later = np.arange(made.shape[1]) * (old / new)
    truth = np.sin(2 * np.pi * frequencies[:, None] * later / old) * np.interp(later, time, swell)
    return waves, np.asarray(made, np.float64), truth


@pytest.mark.parametrize("old, new", [(44100, 16000), (24001, 16000)])
def test_the_pass_band_is_flat_without_delay_and_nothing_folds_back(old, new):
    half = new / 2
    frequencies = np.concatenate([np.linspace(20, 0.91 * half, 30), np.linspace(1.003 * half, 0.499 * old, 30)])
    _, made, truth = _swept(old, new, frequencies)
    passed = frequencies < half
    gain = np.sum(made * truth, 1)[passed] / np.sum(truth**2, 1)[passed]
    assert np.abs(20 * np.log10(gain)).max() < 0.1
    np.testing.assert_allclose(made[passed], truth[passed], atol=2e-5)
    assert all(20 * np.log10(np.abs(made[~passed]).max(1) + 1e-12) < -100)


@pytest.mark.parametrize("old, new", [(16000, 48000), (11025, 48000)])
def test_upsampling_leaves_no_images(old, new):
    frequencies = np.linspace(50, 0.499 * old, 25)
    _, made, _ = _swept(old, new, frequencies)
    spectrum = np.abs(np.fft.rfft(made * np.hanning(made.shape[1]), axis=1)) / made.shape[1]
    beyond = np.fft.rfftfreq(made.shape[1], 1 / new) > 0.502 * old
    assert 20 * np.log10(spectrum[:, beyond].max() / spectrum.max()) < -100


def test_there_and_back_again_is_the_speech():
    _, wave = clips()[1]
    # Once through the filter, the transition band is empty enough to pass it again.
    narrow = _resampled(_resampled(wave, 16000, 12000), 12000, 16000)
    again = _resampled(_resampled(narrow, 16000, 48000), 48000, 16000)
    assert len(again) == len(narrow)
    # The sound begins with a step, which the filter rounds.
    assert ratio_db(narrow, again, edge=EDGE) > 100


def test_an_impulse_stays_where_it_is():
    impulse = np.zeros(3000, np.float32)
    impulse[1500] = 1
    made = _resampled(impulse, 48000, 16000)
    assert made.argmax() == 500
    np.testing.assert_allclose(made[400:501], made[600:499:-1], atol=1e-7)


@pytest.mark.parametrize("old, new", [(48000, 16000), (16001, 16000)])
def test_padding_and_company_change_nothing(old, new, rng):
    lengths = np.array([9000, 6001, 0])
    waves = rng.normal(0, 0.1, (3, 9000)).astype(np.float32)
    padded = np.where(np.arange(9000) < lengths[:, None], waves, np.nan).astype(np.float32)
    made = jax.jit(jax.vmap(functools.partial(resample, rate=new)))(Clip(padded, jnp.asarray(lengths, jnp.int32), old))
    assert made.rate == new
    for index, size in enumerate(lengths):
        expected = -(-int(size) * new // old)
        assert made.length[index] == expected
        got = np.asarray(made.wave[index])
        np.testing.assert_allclose(got[:expected], _resampled(waves[index, :size], old, new), atol=2e-7)
        np.testing.assert_array_equal(got[expected:], 0)


def test_the_same_rate_is_the_same_clip():
    clip = Clip(jnp.ones(5), rate=8000)
    assert resample(clip, 8000) is clip


@pytest.mark.parametrize("mode, size", [("ceil", 16001), ("round", 16000), ("floor", 16000)])
def test_the_length_follows_the_mode(mode, size):
    clip = Clip(jax.ShapeDtypeStruct((44101,), jnp.float32), rate=44100)
    assert jax.eval_shape(functools.partial(resample, rate=16000, mode=mode), clip).wave.shape == (size,)


@pytest.mark.parametrize("old, new", [(44100, 16000), (47999, 48000)])
def test_memory_is_bounded_whatever_the_ratio(old, new):
    shape = Clip(jax.ShapeDtypeStruct((10 * old,), jnp.float32), rate=old)
    memory = _program(new).lower(shape).compile().memory_analysis()
    assert memory.temp_size_in_bytes + memory.generated_code_size_in_bytes < 12 * 4 * 10 * max(old, new)


@pytest.mark.parametrize("old, new", [(48000, 16000), (16001, 16000)])
def test_the_derivative_is_the_transpose(old, new, rng):
    wave, weights = (jnp.asarray(rng.normal(size=n), jnp.float32) for n in (3000, -(-3000 * new // old)))
    change = lambda wave: resample(Clip(wave, rate=old), new).wave  # noqa: E731
    slope = jax.jit(jax.grad(lambda wave: jnp.vdot(change(wave), weights)))(wave)
    # The function is linear, so its derivative along the wave is its value.
    np.testing.assert_allclose(jnp.vdot(slope, wave), jnp.vdot(jax.jit(change)(wave), weights), rtol=1e-4)


def test_half_precision_stays():
    clip = Clip(jax.ShapeDtypeStruct((600,), jnp.bfloat16), rate=48000)
    assert jax.eval_shape(functools.partial(resample, rate=16000), clip).wave.dtype == jnp.bfloat16


@pytest.mark.parametrize("rate", [0, -8000, 16000.0, True, 1 << 22])
def test_wrong_rates_are_refused(rate):
    with pytest.raises(ValueError, match="sample rate"):
        resample(Clip(jnp.zeros(4)), rate)
    with pytest.raises(ValueError, match="factor of 512"):
        resample(Clip(jnp.zeros(4)), 1)
