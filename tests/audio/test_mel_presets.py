"""Mel spectrograms against librosa, and against the definitions of torchaudio and ESPnet in float64."""

import functools

import jax
import jax.numpy as jnp
import librosa
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.mel_presets import espnet_log_mel, librosa_mel, torchaudio_mel
from tests.audio.truth import hann, padded, spectra, speech


def _batched(function, **settings):
    out = jax.jit(jax.vmap(functools.partial(function, **settings)))(padded(speech()))
    return [(np.asarray(v)[:n], np.asarray(v)[n:]) for v, n in zip(out.values, np.asarray(out.length), strict=True)]


@pytest.mark.parametrize(
    "ours, theirs",
    [
        ({}, {}),
        (
            {"n_mels": 40, "n_fft": 512, "hop": 160, "width": 400, "low": 50.0, "high": 7000.0, "scale": "htk",
             "norm": None, "power": 1.0, "pad_mode": "reflect"},
            {"n_mels": 40, "n_fft": 512, "hop_length": 160, "win_length": 400, "fmin": 50.0, "fmax": 7000.0,
             "htk": True, "norm": None, "power": 1.0, "pad_mode": "reflect"},
        ),
    ],
    ids=["defaults", "settings"],
)  # fmt: skip
def test_librosa_agrees_on_padded_clips(ours, theirs):
    for (values, rest), wave in zip(_batched(librosa_mel, **ours), speech(), strict=True):
        expected = librosa.feature.melspectrogram(y=wave.astype(np.float64), sr=16000, **theirs).T
        np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-6 * expected.max())
        np.testing.assert_array_equal(rest, 0)


def _htk_filters(n_mels, n_fft, high):
    """Triangles between points that are equally spaced in HTK's mel."""
    to_mel = lambda hz: 2595.0 * np.log10(1.0 + hz / 700.0)  # noqa: E731
    points = 700.0 * (10 ** (np.linspace(to_mel(0.0), to_mel(high), n_mels + 2) / 2595.0) - 1.0)
    hz = np.linspace(0, high, n_fft // 2 + 1)
    filters = [np.interp(hz, points[i : i + 3], [0.0, 1.0, 0.0]) for i in range(n_mels)]
    return np.stack(filters, axis=1)


def test_torchaudio_by_its_definition():
    for (values, rest), wave in zip(_batched(torchaudio_mel), speech(), strict=True):
        expected = np.abs(spectra(wave, hann(400), 200, 400)) ** 2 @ _htk_filters(128, 400, 8000)
        np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-6 * expected.max())
        np.testing.assert_array_equal(rest, 0)


def test_espnet_by_its_definition():
    filters = librosa.filters.mel(sr=16000, n_fft=512, n_mels=80, dtype=np.float64).T
    for (values, rest), wave in zip(_batched(espnet_log_mel), speech(), strict=True):
        powers = np.abs(spectra(wave, hann(512), 128, 512)) ** 2 @ filters
        np.testing.assert_allclose(values, np.log(np.maximum(powers, 1e-10)), atol=1e-3)
        np.testing.assert_array_equal(rest, 0)


@pytest.mark.parametrize("function", [librosa_mel, torchaudio_mel, espnet_log_mel])
def test_filters_end_at_half_the_rate_of_the_clip(function):
    clip = Clip(jnp.zeros(4000), rate=8000)
    assert jax.eval_shape(functools.partial(function, high=4000.0), clip).values.dtype == jnp.float32
    with pytest.raises(ValueError, match="4000 Hz"):
        function(clip, high=4001.0)


@pytest.mark.parametrize("function", [librosa_mel, torchaudio_mel])
def test_a_power_that_is_none_is_refused(function):
    with pytest.raises(ValueError, match="power"):
        function(Clip(jnp.zeros(1600)), power=0.0)
