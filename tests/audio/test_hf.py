"""Presets by the configuration of a published model, against the extractors of transformers."""

import functools
import json
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.hf import from_hf
from tests.audio.truth import padded, speech

WAVES = speech()[1:3]


@functools.cache
def _extractor(name, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import transformers
    return getattr(transformers, name)(**settings)


def _followed(extractor, tmp_path):
    """What the preset makes of the padded batch, by the file that the extractor writes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        extractor.save_pretrained(tmp_path)
    out = jax.jit(jax.vmap(from_hf(tmp_path)))(padded(WAVES))
    values = out.wave if isinstance(out, Clip) else out.values
    return np.asarray(values), np.asarray(out.length)


@pytest.mark.parametrize(
    "name, settings, slack",
    [
        ("WhisperFeatureExtractor", {"feature_size": 128, "chunk_length": 4}, 1e-4),
        ("ParakeetFeatureExtractor", {"preemphasis": 0.9}, 2e-4),
        ("SeamlessM4TFeatureExtractor", {}, 1e-3),
        ("Speech2TextFeatureExtractor", {}, 1e-3),
        ("ASTFeatureExtractor", {"max_length": 200, "num_mel_bins": 64}, 1e-3),
    ],
)
def test_features_are_those_of_transformers(name, settings, slack, tmp_path):
    extractor = _extractor(name, **settings)
    told = {} if name in ("WhisperFeatureExtractor", "ASTFeatureExtractor") else {"padding": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = extractor(list(WAVES), sampling_rate=16000, return_tensors="np", **told)
    expected = theirs.get("input_features", theirs.get("input_values"))
    expected = np.swapaxes(expected, 1, 2) if name == "WhisperFeatureExtractor" else expected
    values, lengths = _followed(extractor, tmp_path)
    seen = np.full(len(WAVES), expected.shape[1])
    if "attention_mask" in theirs:
        seen = theirs["attention_mask"].sum(axis=1)
        np.testing.assert_array_equal(lengths, seen)
    for ours, row, n in zip(values, expected, seen, strict=True):
        np.testing.assert_allclose(ours[:n], row[:n], atol=slack)


@pytest.mark.parametrize("normalize", [True, False])
def test_wav2vec2_reads_the_wave(normalize, tmp_path):
    extractor = _extractor("Wav2Vec2FeatureExtractor", do_normalize=normalize, return_attention_mask=True)
    expected = extractor(list(WAVES), sampling_rate=16000, padding=True, return_tensors="np")["input_values"]
    values, lengths = _followed(extractor, tmp_path)
    np.testing.assert_array_equal(lengths, [len(wave) for wave in WAVES])
    np.testing.assert_allclose(values[:, : expected.shape[1]], expected, atol=1e-4)


def test_a_processor_holds_its_extractor(tmp_path):
    path = tmp_path / "processor_config.json"
    path.write_text(json.dumps({"feature_extractor": {"feature_extractor_type": "ParakeetFeatureExtractor"}}))
    for config in (path, json.loads(path.read_text())):
        assert jax.eval_shape(from_hf(config), Clip(jnp.zeros(1600))).values.shape == (10, 80)


@pytest.mark.parametrize(
    "config, words",
    [
        ({}, "one of Whisper"),
        ({"feature_extractor_type": "ClapFeatureExtractor"}, "Clap"),
        ({"feature_extractor_type": "WhisperFeatureExtractor", "hop_length": 320}, "320"),
        ({"feature_extractor_type": "WhisperFeatureExtractor", "dither": 0.1}, "dither"),
        ({"feature_extractor_type": "Wav2Vec2FeatureExtractor", "sampling_rate": 8000}, "8000"),
        ({"feature_extractor_type": "ParakeetFeatureExtractor", "colour": 3}, "colour=3"),
    ],
)
def test_what_cannot_be_followed_is_refused(config, words):
    with pytest.raises(ValueError, match=words):
        from_hf(config)


def test_files_that_are_none_are_named(tmp_path):
    with pytest.raises(ValueError, match="preprocessor_config.json"):
        from_hf(tmp_path)
    for text, words in (("{", "no JSON"), ("[1]", "list")):
        (tmp_path / "preprocessor_config.json").write_text(text)
        with pytest.raises(ValueError, match=words):
            from_hf(str(tmp_path))
