"""Spectrograms by the book: NumPy in float64, one frame after the other; and speech as a padded batch."""

import functools
import os

import jax.numpy as jnp
import librosa
import numpy as np

from jaxkit import Clip
from tests.audio.speech import clips

SAMPLES = 48000
# Between the harmonics of a voice that is made up there are bins with nothing in them but rounding.
WHISPER_SLACK = 2e-5 if os.environ.get("JAXKIT_SPEECH") else 1e-4


@functools.cache
def speech() -> tuple[np.ndarray, ...]:
    """Pieces of speech of several odd lengths, at most 3 seconds."""
    lengths = (SAMPLES, 44580, 40001, 16079)
    return tuple(wave[-size:] for (_, wave), size in zip(clips(), lengths, strict=False))


def padded(waves: tuple, *, beyond: float = np.nan, samples: int = SAMPLES) -> Clip:
    """A batch of clips of one size, with `beyond` in the padding."""
    rows = np.full((len(waves), samples), beyond, np.float32)
    for row, wave in zip(rows, waves, strict=True):
        row[: len(wave)] = wave
    return Clip(jnp.asarray(rows), jnp.asarray([len(wave) for wave in waves], jnp.int32))


def spectra(wave: np.ndarray, window: np.ndarray, hop: int, n_fft: int, *, pad_mode: str | None = "reflect"):
    """Complex spectra `[frames, n_fft // 2 + 1]` of centred frames; `pad_mode` None: of frames inside the clip."""
    left = (n_fft - len(window)) // 2
    weights = np.pad(np.asarray(window, np.float64), (left, n_fft - len(window) - left))
    wave = np.asarray(wave, np.float64)
    wave = wave if pad_mode is None else np.pad(wave, n_fft // 2, mode=pad_mode)
    count = 1 + (len(wave) - n_fft) // hop
    return np.stack([np.fft.rfft(weights * wave[i * hop : i * hop + n_fft]) for i in range(count)])


def hann(width: int) -> np.ndarray:
    """A periodic Hann window."""
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(width) / width)


def whisper(wave: np.ndarray, n_mels: int) -> np.ndarray:
    """Whisper's log-mel `[T // 160, n_mels]`."""
    filters = librosa.filters.mel(sr=16000, n_fft=400, n_mels=n_mels, dtype=np.float64)
    powers = np.abs(spectra(wave, hann(400), 160, 400)[:-1]) ** 2 @ filters.T
    logs = np.log10(np.maximum(powers, 1e-10))
    return (np.maximum(logs, logs.max() - 8) + 4) / 4
