"""What speech projects have: a loop over the files that loads, trims, adds noise and takes the log-mel of one clip.

Everything heavy is librosa's (soxr resamples, SciPy transforms). The features are those that Whisper reads (Radford et
al., Robust Speech Recognition via Large-Scale Weak Supervision, 2022): 80 mels, 25 ms windows every 10 ms, the largest
8 decades. With `exact=True` the same steps run in float64: the truth that both sides are measured against.
"""

import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import librosa
import numpy as np

from .ideal import resampled

RATE = 16000
TOP_DB = 40.0
SNR_DB = (5.0, 20.0)
MELS = 80
WINDOW, HOP = 400, 160


class Draw(NamedTuple):
    """The random choices for one clip.

    Attributes:
      noise: which recording is added.
      offset: in [0, 1), where in it: a fraction of the places at which the clip fits (all places where it does not).
      snr_db: power of the speech over that of the noise, in dB.
    """

    noise: int
    offset: float
    snr_db: float


def prepare(rng: np.random.Generator, files: Sequence[str], noises: Sequence[str]) -> list[np.ndarray | None]:
    """Features `[frames, 80]` float32 of each file, or None for one that cannot be used."""
    done = []
    for file in files:
        choice = draw(rng, noises)
        done.append(prepare_file(file, choice, load(noises[choice.noise])))
    return done


def draw(rng: np.random.Generator, noises: Sequence[str]) -> Draw:
    return Draw(int(rng.integers(len(noises))), float(rng.uniform()), float(rng.uniform(*SNR_DB)))


def prepare_file(file: str, choice: Draw, noise: np.ndarray, *, exact: bool = False) -> np.ndarray | None:
    """One clip; `noise` `[T]` at 16 kHz is the recording that was chosen. A clip without sound has no features."""
    try:
        wave = load(file, exact=exact)
    except Exception:  # librosa raises anything, from OSError to audioread's own errors, on broken bytes
        return None
    return log_mel(add_noise(trim(wave), noise, choice)) if has_sound(wave) else None


def has_sound(wave: np.ndarray) -> bool:
    """Whether there is a window of numbers that are not all zero."""
    return len(wave) >= WINDOW and bool(np.isfinite(wave).all()) and bool(wave.any())


def load(file: str, *, exact: bool = False) -> np.ndarray:
    """`[T]` at 16 kHz, channels averaged; resampled by soxr, as librosa does."""
    if exact:
        return resampled(*librosa.load(file, sr=None, mono=True, dtype=np.float64), RATE)
    return librosa.load(file, sr=RATE, mono=True)[0]


def trim(wave: np.ndarray) -> np.ndarray:
    """Without what is 40 dB below the loudest at both ends."""
    return librosa.effects.trim(wave, top_db=TOP_DB)[0]


def add_noise(wave: np.ndarray, noise: np.ndarray, choice: Draw) -> np.ndarray:
    """The speech plus a stretch of the noise at a ratio of their powers; a short noise is repeated."""
    fits = len(noise) >= len(wave)
    places = len(noise) - len(wave) + 1 if fits else len(noise)
    start = min(math.floor(np.float32(choice.offset) * np.float32(places)), places - 1)
    stretch = noise[start : start + len(wave)] if fits else np.take(noise, start + np.arange(len(wave)), mode="wrap")
    powers = np.mean(wave**2), np.mean(stretch**2)
    return wave + stretch * np.sqrt(powers[0] / powers[1] / 10 ** (choice.snr_db / 10)) if powers[1] else wave


def log_mel(wave: np.ndarray) -> np.ndarray:
    """Whisper's features `[len // 160, 80]` in the dtype of the wave."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="n_fft")  # a clip shorter than a window is padded, as it should be
        settings = {"sr": RATE, "n_fft": WINDOW, "hop_length": HOP, "n_mels": MELS, "pad_mode": "reflect"}
        power = librosa.feature.melspectrogram(y=wave, dtype=wave.dtype, **settings)
    levels = np.log10(np.maximum(power[:, : len(wave) // HOP], 1e-10))
    return ((np.maximum(levels, levels.max() - 8) + 4) / 4).T
