"""Mel filters against librosa and Kaldi, and their banded product against a full one."""

import jax.numpy as jnp
import kaldi_native_fbank
import librosa
import numpy as np
import pytest

from jaxkit.audio import mel


@pytest.mark.parametrize("scale", ["htk", "slaney"])
@pytest.mark.parametrize("norm", [None, "slaney"])
@pytest.mark.parametrize("n_mels, n_fft, low, high", [(80, 400, 0, None), (64, 512, 125.0, 7600.0), (1, 64, 0, 500)])
def test_filters_are_those_of_librosa(scale, norm, n_mels, n_fft, low, high):
    ours = mel.mel_filters(n_mels, n_fft=n_fft, rate=16000, low=low, high=high, scale=scale, norm=norm)
    expected = librosa.filters.mel(
        sr=16000, n_fft=n_fft, n_mels=n_mels, fmin=low, fmax=high, htk=scale == "htk", norm=norm, dtype=np.float64
    )
    np.testing.assert_allclose(ours, expected.T, atol=1e-12)


@pytest.mark.parametrize("n_mels, low, high", [(23, 20.0, 8000.0), (80, 20.0, 7600.0)])
def test_filters_of_kaldi(n_mels, low, high):
    options = kaldi_native_fbank.FbankOptions()
    options.mel_opts.num_bins, options.mel_opts.low_freq, options.mel_opts.high_freq = n_mels, low, high
    expected = np.asarray(kaldi_native_fbank.MelBanks(options.mel_opts, options.frame_opts, 1.0).get_matrix())
    ours = mel.mel_filters(n_mels, n_fft=512, rate=16000, low=low, high=high, scale="kaldi")
    np.testing.assert_allclose(ours[: expected.shape[1]], expected.T, atol=2e-5)


@pytest.mark.parametrize("scale", ["htk", "slaney", "kaldi"])
def test_scales_have_inverses(scale):
    hz = np.array([0.0, 20.0, 999.0, 1000.0, 1001.0, 8000.0])
    np.testing.assert_allclose(mel.mel_to_hz(mel.hz_to_mel(hz, scale=scale), scale=scale), hz, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("n_mels, n_fft", [(80, 400), (23, 512), (41, 16)])
def test_the_banded_product_is_the_full_one(n_mels, n_fft, rng):
    filters = mel.mel_filters(n_mels, n_fft=n_fft, rate=16000)
    powers = rng.random((7, n_fft // 2 + 1)).astype(np.float32)
    expected = powers.astype(np.float64) @ filters
    np.testing.assert_allclose(mel.mel_product(jnp.asarray(powers), filters), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"scale": "bark"}, "'bark'"),
        ({"norm": "area"}, "'area'"),
        ({"high": 9000.0}, "9000"),
        ({"low": 400.0, "high": 300.0}, "400"),
        ({"low": -1.0}, "-1"),
    ],
)
def test_wrong_filters_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        mel.mel_filters(80, n_fft=512, rate=16000, **settings)


def test_no_filters_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        mel.mel_filters(0, n_fft=512, rate=16000)
