"""One line per preset, filter and op of `audio`, which `test_laws.py` holds to the laws."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxkit import audio


class Entry(NamedTuple):
    """What the laws need to know.

    Attributes:
      name: of the test.
      recipe: builds the op, or the plain function of a clip; `recipe.func` is the public factory.
      kind: `preset` makes features of a clip, `clip` keeps it a clip, `features` acts on features.
      random: whether different keys give different results.
      slack: by how much a clip alone may differ from the same clip in a padded batch.
      smooth: whether derivatives follow differences.
    """

    name: str
    recipe: Callable
    kind: str = "clip"
    random: bool = True
    slack: float = 1e-5
    smooth: bool = True


use = functools.partial


def preset(name: str, function: Callable, *, slack: float = 1e-4, **settings) -> Entry:
    """A line for a deterministic function from a clip to features."""
    return Entry(name, use(use, function, **settings), "preset", random=False, slack=slack)


@functools.cache
def noises() -> audio.Bank:
    """Two noises, one shorter than the clips of the laws."""
    rng = np.random.default_rng(5)
    return audio.Bank.from_waves([rng.normal(0, 0.1, size).astype(np.float32) for size in (3000, 20000)])


@functools.cache
def rooms() -> audio.Bank:
    """Two impulse responses that fade, with their direct paths at different places."""
    rng = np.random.default_rng(6)
    fades = np.exp(-np.arange(1600) / 200) * rng.normal(0, 0.2, (2, 1600))
    waves = [np.concatenate([np.zeros(at), [1.0], fade]) for at, fade in zip((0, 40), fades, strict=True)]
    return audio.Bank.from_waves([wave.astype(np.float32) for wave in waves])


SECTIONS = np.array([[0.2, 0.3, 0.2, 1.0, -0.5, 0.3], [1.0, -1.0, 0.0, 1.0, -0.9, 0.0]])
SLOW_FALL = {"slack": 1e-3}
PRESETS = (
    preset("whisper", audio.whisper_log_mel, pad_to=None),
    preset("kaldi_fbank", audio.kaldi_fbank, **SLOW_FALL),
    preset("kaldi_mfcc", audio.kaldi_mfcc, **SLOW_FALL),
    preset("nemo", audio.nemo_log_mel, **SLOW_FALL),
    preset("seamless", audio.seamless_fbank, **SLOW_FALL),
    preset("speech2text", audio.speech2text_fbank, **SLOW_FALL),
    preset("librosa", audio.librosa_mel),
    preset("torchaudio", audio.torchaudio_mel),
    preset("espnet", audio.espnet_log_mel),
)
FUNCTIONS = tuple(
    Entry(name, use(use, function, **settings), random=False)
    for name, function, settings in (
        ("wav2vec2", audio.wav2vec2_norm, {}),
        ("resample down", audio.resample, {"rate": 11025}),
        ("resample up", audio.resample, {"rate": 24000}),
        ("resample coprime", audio.resample, {"rate": 15999}),
        ("sosfilt", audio.sosfilt, {"sos": SECTIONS}),
        ("trim", audio.trim, {"top_db": 20.0}),
    )
)
OPS = (
    Entry("gain", use(audio.gain)),
    Entry("polarity", use(audio.polarity)),
    Entry("reverse", use(audio.reverse)),
    Entry("shift", use(audio.shift, seconds=(-0.2, 0.2))),
    Entry("shift_fraction", use(audio.shift, fraction=(-0.5, 0.5))),
    Entry("shift_wrap", use(audio.shift, seconds=(-0.2, 0.2), wrap=True)),
    Entry("dropout", use(audio.dropout, chunks=(1, 3))),
    Entry("packet_loss", use(audio.packet_loss, share=(0.1, 0.5))),
    Entry("dither", use(audio.dither)),
    Entry("add_noise", use(audio.add_noise, bank=noises())),
    Entry("gaussian_snr", use(audio.gaussian_snr)),
    Entry("coloured_noise", use(audio.coloured_noise)),
    Entry("reverb", use(audio.reverb, bank=rooms())),
    Entry("room_reverb", use(audio.room_reverb)),
    Entry("speed", use(audio.speed)),
    Entry("speed_choices", use(audio.speed, choices=(0.9, 1.0, 1.1))),
    Entry("time_stretch", use(audio.time_stretch), smooth=False),
    Entry("pitch_shift", use(audio.pitch_shift), smooth=False),
    Entry("low_pass", use(audio.low_pass)),
    Entry("high_pass", use(audio.high_pass)),
    Entry("band_pass", use(audio.band_pass)),
    Entry("band_stop", use(audio.band_stop)),
    Entry("peaking", use(audio.peaking)),
    Entry("shelf", use(audio.shelf)),
    Entry("normalize_loudness", use(audio.normalize_loudness)),
    Entry("telephone", use(audio.telephone), smooth=False),
    Entry("mu_law", use(audio.mu_law), random=False, smooth=False),
    Entry("a_law", use(audio.a_law), random=False, smooth=False),
    Entry("bit_crush", use(audio.bit_crush), smooth=False),
    Entry("clip", use(audio.clip)),
    Entry("spec_augment", use(audio.spec_augment), "features"),
    Entry("time_warp", use(audio.time_warp), "features"),
)
STATISTICS = tuple(
    Entry(name, use(use, function, **settings), "features", random=False)
    for name, function, settings in (
        ("cmvn", audio.cmvn, {}),
        ("sliding_cmvn", audio.sliding_cmvn, {}),
        ("deltas", audio.deltas, {}),
        ("stack", audio.stack_frames, {}),
    )
)
CATALOGUE = PRESETS + FUNCTIONS + OPS + STATISTICS
