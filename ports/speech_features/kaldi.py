"""The same steps as a C++ project has them: soundfile, soxr and kaldi-native-fbank, one clip after the other."""

from collections.abc import Callable, Sequence
from functools import cache

import kaldi_native_fbank
import numpy as np
import soundfile
import soxr

from . import kept, slow


def prepare(
    rng: np.random.Generator, files: Sequence[str], noises: Sequence[str], *, threads: int = 1
) -> list[np.ndarray | None]:
    """Features of each file as `slow.prepare` gives them, but for frames that lie 5 ms later, as Kaldi's do."""
    return kept.prepare(rng, files, noises, threads=threads, prepare_file=prepare_file, load=load_kept)


def prepare_file(file: str, choice: slow.Draw, noise: np.ndarray) -> np.ndarray | None:
    try:
        wave = load(file)
    except (OSError, RuntimeError, TypeError):
        return None
    return log_mel(slow.add_noise(slow.trim(wave), noise, choice)) if slow.has_sound(wave) else None


def load(file: str) -> np.ndarray:
    """`[T]` float32 at 16 kHz, channels averaged."""
    wave, rate = soundfile.read(file, dtype="float32")
    wave = wave if wave.ndim == 1 else wave.mean(axis=1)
    return wave if rate == slow.RATE else soxr.resample(wave, rate, slow.RATE)


load_kept: Callable[[str], np.ndarray] = cache(load)


def log_mel(wave: np.ndarray) -> np.ndarray:
    """Whisper's features `[frames, 80]`: the logarithm and its floor are the caller's part."""
    options = kaldi_native_fbank.WhisperFeatureOptions()
    options.dim = slow.MELS
    bank = kaldi_native_fbank.OnlineWhisperFbank(options)
    bank.accept_waveform(slow.RATE, wave)
    bank.input_finished()
    power = np.array([bank.get_frame(i) for i in range(bank.num_frames_ready)]).reshape(-1, slow.MELS)
    levels = np.log10(np.maximum(power, 1e-10))
    return (np.maximum(levels, levels.max(initial=-np.inf) - 8) + 4) / 4
