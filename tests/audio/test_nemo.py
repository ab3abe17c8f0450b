"""NeMo's features against transformers on a padded batch, and kaldi-native-fbank."""

import functools
import warnings

import jax
import jax.numpy as jnp
import kaldi_native_fbank
import librosa
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.nemo import nemo_log_mel
from tests.audio.truth import SAMPLES, padded, spectra, speech

NEMO = jax.jit(jax.vmap(nemo_log_mel))


@pytest.fixture(scope="module")
def parakeet():
    """The extractor of transformers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers import ParakeetFeatureExtractor
    return ParakeetFeatureExtractor()


def test_a_padded_batch_is_that_of_transformers(parakeet):
    out = NEMO(padded(speech()))
    expected = parakeet(list(speech()), sampling_rate=16000, return_tensors="np")
    frames = out.length.max()
    np.testing.assert_array_equal(out.length, expected["attention_mask"].sum(axis=1))
    np.testing.assert_allclose(out.values[:, :frames], expected["input_features"][:, :frames], atol=2e-4)


def test_kaldi_native_fbank_agrees_before_the_normalisation():
    stream = kaldi_native_fbank.OnlineNemoFbank(kaldi_native_fbank.NemoFbankOptions())
    stream.accept_waveform(16000, speech()[1])
    stream.input_finished()
    expected, _ = stream.get_frames(0, stream.num_frames_ready, True)
    got = jax.jit(functools.partial(nemo_log_mel, normalize=False))(Clip(jnp.asarray(speech()[1])))
    np.testing.assert_allclose(got.values, expected, atol=5e-4)


def test_old_checkpoints_mirror_and_have_one_frame_more():
    wave = speech()[3]
    old = functools.partial(
        nemo_log_mel, n_mels=128, pad_mode="reflect", last_frame=True, normalize=False, preemphasis=0.0
    )
    got = jax.jit(old)(Clip(jnp.asarray(wave)))
    filters = librosa.filters.mel(sr=16000, n_fft=512, n_mels=128, dtype=np.float64)
    expected = np.log(np.abs(spectra(wave, np.hanning(400), 160, 512)) ** 2 @ filters.T + 2.0**-24)
    assert got.length is None
    np.testing.assert_allclose(got.values, expected, atol=1e-3)


def test_one_frame_and_silence_are_zero():
    lengths = jnp.asarray([160, 200, 320, 0], jnp.int32)
    out = NEMO(Clip(jnp.full((4, SAMPLES), 0.5, jnp.float32), lengths))
    np.testing.assert_array_equal(out.length, [1, 1, 2, 0])
    np.testing.assert_array_equal(np.asarray(out.values)[[0, 1, 3]], 0)
    assert np.isfinite(out.values).all()
    silence = NEMO(Clip(jnp.zeros((4, SAMPLES)), lengths * 30))
    np.testing.assert_array_equal(silence.values, 0)


@pytest.mark.parametrize(
    "settings, words", [({"pad_mode": "wrap"}, "'wrap'"), ({"normalize": "yes"}, "'yes'"), ({"last_frame": 1}, "1")]
)
def test_wrong_settings_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        nemo_log_mel(Clip(jnp.zeros(1600)), **settings)
