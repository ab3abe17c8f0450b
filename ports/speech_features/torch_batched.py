"""The same steps as a PyTorch project has them: threads load and resample (soxr), padded batches do the rest."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np
import soundfile
import torch
from librosa import filters
from torch.nn.functional import avg_pool1d

from . import slow
from .kaldi import load, load_kept

ROWS = 16
FRAME, STEP = 2048, 512


def prepare(rng: np.random.Generator, files: Sequence[str], noises: Sequence[str]) -> list[np.ndarray | None]:
    """Features of each file as `slow.prepare` gives them. The noises are kept in memory."""
    choices = [slow.draw(rng, noises) for _ in files]
    every = [torch.from_numpy(load_kept(noise)) for noise in noises]
    done: list[np.ndarray | None] = [None] * len(files)
    order = sorted(range(len(files)), key=lambda index: seconds(files[index]))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        waves = zip(order, pool.map(load_good, [files[index] for index in order]), strict=True)
        good = ((index, wave) for index, wave in waves if wave is not None)
        while held := list(islice(good, ROWS)):
            for (index, _), values in zip(held, batch(held, choices, every), strict=True):
                done[index] = values
    return done


def seconds(file: str) -> float:
    """So that clips of about one length stand in one batch."""
    try:
        return soundfile.info(file).duration
    except (OSError, RuntimeError, TypeError):
        return 0.0


def load_good(file: str) -> torch.Tensor | None:
    try:
        wave = load(file)
    except (OSError, RuntimeError, TypeError):
        return None
    return torch.from_numpy(wave) if slow.has_sound(wave) else None


@torch.inference_mode()
def batch(held: list, choices: list[slow.Draw], noises: list[torch.Tensor]) -> list[np.ndarray]:
    """Trims each, mixes each, pads them and transforms all at once."""
    mixed = [add_noise(trim(wave), choices[index], noises) for index, wave in held]
    return log_mel(mixed)


def trim(wave: torch.Tensor) -> torch.Tensor:
    """As `librosa.effects.trim`: centred frames, zeros beyond the ends."""
    padded = torch.nn.functional.pad(wave.square(), (FRAME // 2, FRAME // 2))
    power = avg_pool1d(padded[None, None], FRAME, STEP)[0, 0]
    loud = torch.nonzero(power > power.max() * 10 ** (-slow.TOP_DB / 10))[:, 0]
    return wave[int(loud[0]) * STEP : min(len(wave), (int(loud[-1]) + 1) * STEP)]


def add_noise(wave: torch.Tensor, choice: slow.Draw, noises: list[torch.Tensor]) -> torch.Tensor:
    noise = noises[choice.noise]
    places = len(noise) - len(wave) + 1 if len(noise) >= len(wave) else len(noise)
    start = int(choice.offset * places)
    noise = noise if len(noise) >= len(wave) else noise.repeat(2 + len(wave) // len(noise))
    stretch = noise[start : start + len(wave)]
    ratio = wave.square().mean() / stretch.square().mean() / 10 ** (choice.snr_db / 10)
    return wave + stretch * ratio.sqrt()


def log_mel(waves: list[torch.Tensor]) -> list[np.ndarray]:
    """Whisper's features: each is mirrored at its own ends, and has a floor of its own."""
    half, counts = slow.WINDOW // 2, [len(wave) // slow.HOP for wave in waves]
    ends = [torch.nn.functional.pad(wave[None], (half, half), mode="reflect")[0] for wave in waves]
    padded = torch.nn.utils.rnn.pad_sequence(ends, batch_first=True)
    window = torch.hann_window(slow.WINDOW)
    bins = torch.stft(padded, slow.WINDOW, slow.HOP, window=window, center=False, return_complex=True)
    power = torch.view_as_real(bins).square().sum(-1)
    levels = (mel_filters() @ power).clamp_min(1e-10).log10()
    rows = (row[:, :count] for row, count in zip(levels, counts, strict=True))
    return [((torch.maximum(row, row.max() - 8) + 4) / 4).T.contiguous().numpy() for row in rows]


def mel_filters() -> torch.Tensor:
    return torch.from_numpy(filters.mel(sr=slow.RATE, n_fft=slow.WINDOW, n_mels=slow.MELS))
