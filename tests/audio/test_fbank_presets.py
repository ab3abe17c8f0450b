"""Filter banks of models, and wav2vec 2.0's wave, against the feature extractors of transformers, on speech."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import transformers

from jaxkit import Clip
from jaxkit.audio.fbank_presets import ast_fbank, seamless_fbank, speech2text_fbank
from jaxkit.audio.wav2vec2 import wav2vec2_norm
from tests.audio.speech import clips

SAMPLES = 40_000
LENGTHS = (40_000, 33_333, 27_210)


@functools.cache
def _waves():
    """Speech with noise, so that few values depend on what rounding leaves of a cancelled bin."""
    rng = np.random.default_rng(4)
    cut = [np.resize(wave, length) for (_, wave), length in zip(clips(), LENGTHS, strict=False)]
    return [wave + rng.normal(0, 1e-3, len(wave)).astype(np.float32) for wave in cut]


def _batch():
    padded = [np.pad(wave, (0, SAMPLES - len(wave)), constant_values=np.nan) for wave in _waves()]
    return Clip(jnp.asarray(np.stack(padded)), jnp.array(LENGTHS, jnp.int32))


def _agree(ours, values, mask, slack):
    """The result of a batch, and what the reference made of it, where its mask is set.

    Beyond the slack is only what rounding leaves of bins that are 100 dB below the loudest of their frame.
    """
    for row, length, expected, valid in zip(np.asarray(ours[0]), ours[1], values, mask, strict=True):
        assert length == valid.sum()
        off = np.abs(row[:length] - expected[: valid.sum()])
        assert np.quantile(off, 0.999) < slack and off.max() < 20 * slack


@pytest.mark.filterwarnings("ignore")
def test_seamless():
    extractor = transformers.SeamlessM4TFeatureExtractor()
    expected = extractor(_waves(), sampling_rate=16000, return_tensors="np", padding=True)
    ours = jax.jit(jax.vmap(seamless_fbank))(_batch())
    _agree((ours.values, ours.length), expected["input_features"], expected["attention_mask"], 1e-3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("variance", [True, False])
def test_speech2text(variance):
    extractor = transformers.Speech2TextFeatureExtractor(normalize_vars=variance)
    expected = extractor(_waves(), sampling_rate=16000, return_tensors="np", padding=True)
    ours = jax.jit(jax.vmap(functools.partial(speech2text_fbank, normalize_vars=variance)))(_batch())
    _agree((ours.values, ours.length), expected["input_features"], expected["attention_mask"], 1e-3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("frames", [300, 150])
def test_audio_spectrogram_transformer(frames):
    extractor = transformers.ASTFeatureExtractor(max_length=frames)
    expected = extractor(_waves(), sampling_rate=16000, return_tensors="np")["input_values"]
    ours = jax.jit(jax.vmap(functools.partial(ast_fbank, max_length=frames)))(_batch())
    np.testing.assert_allclose(ours.values, expected, rtol=0, atol=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_wav2vec2():
    extractor = transformers.Wav2Vec2FeatureExtractor(return_attention_mask=True)
    waves = [wave + np.float32(0.3) for wave in _waves()]
    expected = extractor(waves, sampling_rate=16000, return_tensors="np", padding=True)
    ours = jax.jit(jax.vmap(wav2vec2_norm))(_batch().replace(wave=_batch().wave + 0.3))
    _agree((ours.wave, ours.length), expected["input_values"], expected["attention_mask"], 1e-4)
    np.testing.assert_array_equal(np.asarray(ours.wave)[1, LENGTHS[1] :], 0)


def test_constant_waves_become_silent():
    levels = jnp.array([0.0, 0.1, 1e4])
    made = jax.jit(jax.vmap(wav2vec2_norm))(Clip(jnp.broadcast_to(levels[:, None], (3, 1000))))
    np.testing.assert_allclose(made.wave, 0, atol=1e-6)


@pytest.mark.parametrize("function", [seamless_fbank, speech2text_fbank, ast_fbank])
def test_other_rates_are_refused(function):
    with pytest.raises(ValueError, match="8000 Hz"):
        function(Clip(jnp.zeros(800), rate=8000))


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="max_length"):
        ast_fbank(Clip(jnp.zeros(800)), max_length=0)
    with pytest.raises(ValueError, match="normalize_means"):
        speech2text_fbank(Clip(jnp.zeros(800)), normalize_means=False)
