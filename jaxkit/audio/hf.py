"""The preset that a model published with transformers asks for."""

import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jaxkit.audio.extent import check, silenced
from jaxkit.audio.fbank_presets import ast_fbank, seamless_fbank, speech2text_fbank
from jaxkit.audio.nemo import nemo_log_mel
from jaxkit.audio.wav2vec2 import wav2vec2_norm
from jaxkit.audio.whisper import RATE, whisper_log_mel
from jaxkit.records import Clip, Features

FILE = "preprocessor_config.json"
# What these say follows from the rest, or is about how transformers hands its arrays over.
IRRELEVANT = {
    "feature_extractor_type",
    "feature_size",
    "image_processor_type",
    "mel_filters",
    "n_samples",
    "nb_max_frames",
    "padding",
    "processor_class",
    "return_attention_mask",
    "return_tensors",
    "transformers_version",
    "window",
    "_valid_processor_keys",
}
FIXED = {"sampling_rate": RATE, "padding_value": 0.0, "padding_side": "right", "dither": 0.0}


def from_hf(config: Mapping[str, Any] | str | Path) -> Callable[[Clip], Features | Clip]:
    """The preset of a feature extractor of transformers: Whisper, Wav2Vec2, SeamlessM4T, AST, Speech2Text, Parakeet.

    Args:
      config: the contents of a `preprocessor_config.json`, its path, or the path of the folder that has it. Of a
        `processor_config.json`, the part that is called `feature_extractor` is taken.

    Returns:
      A function of one clip at 16 kHz. It returns features; that of Wav2Vec2 returns a clip.

    Raises:
      ValueError: if the file is not there or no such JSON, the extractor is none of these, or a setting of it is not
        known here or has a value that the preset cannot follow.
    """
    config = dict(_read(config) if isinstance(config, str | Path) else config)
    config = dict(config.get("feature_extractor", config))
    kind = str(config.get("feature_extractor_type"))
    if kind not in RECIPES:
        raise ValueError(f"feature_extractor_type must be one of {', '.join(RECIPES)}, got {kind!r}")
    recipe = RECIPES[kind]
    for name, value in config.items():
        expected = {**FIXED, **recipe.fixed}.get(name, value)
        if value != expected:
            raise ValueError(f"{kind} is followed with {name}={expected!r} only, got {value!r}")
        if name not in recipe.settings and name not in IRRELEVANT | set(FIXED) | set(recipe.fixed):
            raise ValueError(f"{kind}: {name}={value!r} is not known; leave it out if it does not change the features")
    settings = {ours: config[theirs] for theirs, ours in recipe.settings.items() if theirs in config}
    return functools.partial(recipe.function, **settings)


def _read(path: str | Path) -> dict:
    path = Path(path)
    path = path / FILE if path.is_dir() else path
    if not path.is_file():
        raise ValueError(f"there is no {path}; give {FILE} or the folder that has it")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"{path} holds a JSON {type(config).__name__}, not the settings of a feature extractor")
    return config


def _whisper(clip: Clip, *, n_mels: int = 80, seconds: int = 30) -> Features:
    return whisper_log_mel(clip, n_mels=n_mels, pad_to=seconds * RATE)


def _wav2vec2(clip: Clip, *, normalize: bool = True) -> Clip:
    check(clip, rate=RATE)
    return wav2vec2_norm(clip) if normalize else silenced(clip)


def _speech2text(
    clip: Clip, *, n_mels: int = 80, normalize: bool = True, means: bool = True, variances: bool = True
) -> Features:
    normalized = {"normalize_means": normalize and means, "normalize_vars": normalize and variances}
    return speech2text_fbank(clip, n_mels=n_mels, **normalized)


def _ast(clip: Clip, *, max_length: int = 1024, **settings: Any) -> Features:
    return ast_fbank(clip, max_length=max_length, **settings)


class Recipe(NamedTuple):
    """How an extractor is followed.

    Attributes:
      function: of a clip.
      settings: the extractor's names of what the function takes.
      fixed: what else the extractor can be told, and the only value that is followed.
    """

    function: Callable
    settings: Mapping[str, str]
    fixed: Mapping[str, Any]


RECIPES = {
    "WhisperFeatureExtractor": Recipe(
        _whisper, {"feature_size": "n_mels", "chunk_length": "seconds"}, {"hop_length": 160, "n_fft": 400}
    ),
    "Wav2Vec2FeatureExtractor": Recipe(_wav2vec2, {"do_normalize": "normalize"}, {"feature_size": 1}),
    "SeamlessM4TFeatureExtractor": Recipe(seamless_fbank, {"num_mel_bins": "n_mels", "stride": "stride"}, {}),
    "ASTFeatureExtractor": Recipe(
        _ast,
        {
            "num_mel_bins": "n_mels",
            "max_length": "max_length",
            "do_normalize": "normalize",
            "mean": "mean",
            "std": "std",
        },
        {"feature_size": 1},
    ),
    "Speech2TextFeatureExtractor": Recipe(
        _speech2text,
        {
            "num_mel_bins": "n_mels",
            "do_ceptral_normalize": "normalize",
            "normalize_means": "means",
            "normalize_vars": "variances",
        },
        {},
    ),
    "ParakeetFeatureExtractor": Recipe(
        nemo_log_mel,
        {
            "feature_size": "n_mels",
            "hop_length": "hop",
            "n_fft": "n_fft",
            "win_length": "width",
            "preemphasis": "preemphasis",
        },
        {},
    ),
}
