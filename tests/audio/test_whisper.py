"""Whisper's log-mel against the book in float64, transformers, and the laws of its maximum."""

import functools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.whisper import whisper_log_mel, whisper_peak
from tests.audio import truth
from tests.audio.truth import SAMPLES, WHISPER_SLACK, padded, speech

MIRRORED = jax.jit(jax.vmap(functools.partial(whisper_log_mel, pad_to=None)))
ZEROS = 64000
EXTENDED = jax.jit(jax.vmap(functools.partial(whisper_log_mel, n_mels=128, pad_to=ZEROS)))
FILE = jax.jit(jax.vmap(functools.partial(whisper_log_mel, pad_to=ZEROS, scope="file")))

PEAKS = jax.jit(jax.vmap(whisper_peak))
TOLD = jax.jit(jax.vmap(lambda clip, peak: whisper_log_mel(clip, pad_to=None, peak=peak), in_axes=(0, None)))


@pytest.fixture(scope="module")
def extractor():
    """Makes the feature extractors of transformers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers import WhisperFeatureExtractor
    return WhisperFeatureExtractor


def test_clips_mirror_at_their_true_end():
    out = MIRRORED(padded(speech()))
    for values, length, wave in zip(np.asarray(out.values), np.asarray(out.length), speech(), strict=True):
        assert length == len(wave) // 160
        np.testing.assert_allclose(values[:length], truth.whisper(wave, 80), atol=WHISPER_SLACK)
        np.testing.assert_array_equal(values[length:], 0)


def test_the_window_of_a_model_holds_its_silence():
    out = EXTENDED(padded(speech()))
    assert out.values.shape[1:] == (ZEROS // 160, 128)
    np.testing.assert_array_equal(out.length, [-(-len(wave) // 160) for wave in speech()])
    for values, wave in zip(np.asarray(out.values), speech(), strict=True):
        error = np.abs(values - truth.whisper(np.pad(wave, (0, ZEROS - len(wave))), 128))
        # With 128 filters some read a single bin, and a bin that happens to be empty is as uncertain as its neighbours.
        assert np.quantile(error, 0.9999) < 2e-5
        assert error.max() < 1e-4


def test_transformers_agree(extractor):
    reference = extractor(feature_size=80)
    got = jax.jit(whisper_log_mel)(Clip(jnp.asarray(speech()[1])))
    expected = reference(speech()[1], sampling_rate=16000, return_attention_mask=True, return_tensors="np")
    np.testing.assert_allclose(got.values, expected["input_features"][0].T, atol=1.5 * WHISPER_SLACK)
    assert got.length == expected["attention_mask"].sum()


def test_a_file_is_followed_by_silence_and_has_one_maximum():
    out = FILE(padded(speech()))
    for values, length, wave in zip(np.asarray(out.values), np.asarray(out.length), speech(), strict=True):
        expected = truth.whisper(np.pad(wave, (0, ZEROS)), 80)
        assert length == len(wave) // 160
        np.testing.assert_allclose(values[: len(expected)], expected, atol=WHISPER_SLACK)
        np.testing.assert_allclose(values[len(expected) :], expected[-1, 0], atol=WHISPER_SLACK)


def test_a_piece_can_have_the_floor_of_its_recording():
    loud, quiet = speech()[0], speech()[0] * np.float32(1e-3)
    batch = padded((loud, quiet, quiet, quiet))
    alone = MIRRORED(batch)
    peaks = PEAKS(batch)
    np.testing.assert_allclose(peaks[0] - peaks[1], 6.0, atol=1e-5)
    together = np.asarray(TOLD(batch, peaks.max()).values)
    np.testing.assert_allclose(together[0], alone.values[0], atol=1e-6)
    floor = (peaks.max() - 8.0 + 4.0) / 4.0
    np.testing.assert_allclose(together[1], np.maximum(alone.values[1], floor), atol=1e-6)


def test_silence_is_the_least_value():
    silence = padded(tuple(np.zeros(SAMPLES, np.float32) for _ in range(4)))
    for function in (MIRRORED, EXTENDED):
        np.testing.assert_array_equal(np.unique(function(silence).values), [-1.5])
    np.testing.assert_array_equal(PEAKS(silence), np.full(4, -10.0))


@pytest.mark.parametrize(
    "clip, settings, error, words",
    [
        (Clip(jnp.zeros(1600), rate=8000), {}, ValueError, "8000"),
        (Clip(jnp.zeros(1600)), {"scope": "batch"}, ValueError, "'batch'"),
        (Clip(jnp.zeros(1600)), {"scope": "file", "pad_to": None}, ValueError, "pad_to"),
        (Clip(jnp.zeros(480001)), {}, ValueError, "480001"),
        (Clip(jnp.zeros(1600, jnp.int16)), {}, TypeError, "int16"),
    ],
)
def test_what_whisper_does_not_take_is_refused(clip, settings, error, words):
    with pytest.raises(error, match=words):
        whisper_log_mel(clip, **settings)
