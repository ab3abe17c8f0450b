"""Transforms against torch on speech, also where clips are padded; and back."""

import functools

import jax
import jax.numpy as jnp
import librosa
import numpy as np
import pytest
import torch

from jaxkit import Clip, Features
from jaxkit.audio.stft import istft, stft
from tests.audio.truth import SAMPLES, padded, speech

WIDTH, HOP, N_FFT = 400, 160, 512
SETTINGS = {"width": WIDTH, "hop": HOP, "n_fft": N_FFT}
FORWARD = jax.jit(jax.vmap(functools.partial(stft, **SETTINGS)))
BACK = jax.jit(jax.vmap(functools.partial(istft, **SETTINGS, samples=SAMPLES)))


def _torch(wave, **settings):
    settings = {"n_fft": N_FFT, "hop_length": HOP, "win_length": WIDTH, **settings}
    window = torch.hann_window(settings["win_length"], dtype=torch.float64)
    return torch.stft(torch.from_numpy(wave).double(), window=window, return_complex=True, **settings).numpy().T


def test_padded_clips_have_the_spectra_of_torch():
    out = FORWARD(padded(speech()))
    assert out.values.dtype == jnp.complex64
    for values, length, wave in zip(np.asarray(out.values), np.asarray(out.length), speech(), strict=True):
        expected = _torch(wave)
        assert length == len(expected)
        np.testing.assert_allclose(values[:length], expected, atol=2e-5)
        np.testing.assert_array_equal(values[length:], 0)


@pytest.mark.parametrize("center, pad_mode", [(False, "reflect"), (True, "constant")])
def test_other_layouts(center, pad_mode):
    wave = speech()[3]
    forward = functools.partial(stft, width=256, hop=64, center=center, pad_mode=pad_mode)
    ours = jax.jit(forward)(Clip(jnp.asarray(wave)))
    expected = _torch(wave, n_fft=256, win_length=256, hop_length=64, center=center, pad_mode=pad_mode)
    assert ours.length is None
    np.testing.assert_allclose(ours.values, expected, atol=2e-5)
    again = librosa.stft(wave, n_fft=256, hop_length=64, center=center, pad_mode=pad_mode)
    np.testing.assert_allclose(ours.values, again.T, atol=1e-4)


def test_the_inverse_gives_padded_clips_back():
    clip = padded(speech())
    again = BACK(FORWARD(clip))
    wave = np.nan_to_num(np.asarray(clip.wave))
    lengths = np.asarray(clip.length) // HOP * HOP
    np.testing.assert_array_equal(again.length, lengths)
    for ours, expected, n in zip(np.asarray(again.wave), wave, lengths, strict=True):
        np.testing.assert_allclose(ours[:n], expected[:n], atol=1e-6)
        np.testing.assert_array_equal(ours[n:], 0)


def test_a_changed_spectrum_has_the_clip_of_torch(rng):
    values = (rng.normal(size=(30, 257)) + 1j * rng.normal(size=(30, 257))).astype(np.complex64)
    window = torch.hann_window(WIDTH)
    expected = torch.istft(torch.from_numpy(values.T.copy()), N_FFT, HOP, WIDTH, window=window)
    ours = jax.jit(functools.partial(istft, **SETTINGS))(Features(jnp.asarray(values)))
    assert ours.length is None and ours.rate == 16000
    np.testing.assert_allclose(ours.wave, expected, atol=1e-5)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("n_fft", [32, 31])
def test_short_clips_come_back_without_a_length(center, n_fft, rng):
    wave = rng.normal(size=8 * 11 + n_fft).astype(np.float32)
    settings = {"width": n_fft, "hop": 8, "center": center, "window": "hamming"}
    back = jax.jit(lambda clip: istft(stft(clip, **settings), **settings, rate=8000))
    again = back(Clip(jnp.asarray(wave), rate=8000))
    assert again.wave.shape[0] > len(wave) - 8 and again.rate == 8000
    np.testing.assert_allclose(again.wave, wave[: again.wave.shape[0]], atol=2e-6)


def test_nothing_has_no_spectrum():
    nothing = stft(Clip(jnp.zeros(0)), **SETTINGS)
    assert nothing.values.shape == (0, 257)
    assert istft(nothing, **SETTINGS).wave.shape == (0,)


@pytest.mark.parametrize(
    "settings, words",
    [({"hop": 0}, "hop"), ({"n_fft": 200}, "200"), ({"window": "none"}, "'none'"), ({"pad_mode": "wrap"}, "'wrap'")],
)
def test_wrong_layouts_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        stft(Clip(jnp.zeros(1000)), **settings)


def test_spectra_of_another_transform_are_refused():
    with pytest.raises(ValueError, match="201"):
        istft(Features(jnp.zeros((3, 257), jnp.complex64)))
