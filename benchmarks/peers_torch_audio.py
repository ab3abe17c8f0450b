"""Batched PyTorch code as one writes it with torchaudio, whose wheel needs CUDA libraries and cannot be imported.

Each is what the torchaudio function computes, on `[B, T]` tensors in two threads: `torch.stft` and filters for the
log-mel presets, unfolded frames for Kaldi's, a strided convolution with the windowed sinc of
`torchaudio.functional.resample`, and a loop over clips where torchaudio takes one parameter a call.
"""

import math
import warnings
from collections.abc import Callable

import librosa
import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.audio_clips import RATE

Tensor = torch.Tensor
WIDTH, HOP, PADDED = 400, 160, 512
EPS = 1.1920928955078125e-07


def mel_of(waves: Tensor, *, n_fft: int, hop: int, filters: Tensor, window: Tensor, mode: str = "reflect") -> Tensor:
    spectrum = torch.stft(waves, n_fft, hop, window.numel(), window, pad_mode=mode, return_complex=True)
    return filters @ spectrum.abs().square()


def slaney(n_fft: int, n_mels: int, **settings) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchaudio's defaults leave filters empty.
        return torch.from_numpy(librosa.filters.mel(sr=RATE, n_fft=n_fft, n_mels=n_mels, **settings))


def whisper(n_mels: int) -> Callable[[Tensor], Tensor]:
    filters, window = slaney(400, n_mels), torch.hann_window(400)

    def run(waves: Tensor) -> Tensor:
        power = mel_of(waves, n_fft=400, hop=HOP, filters=filters, window=window)[..., :-1]
        level = power.clamp(min=1e-10).log10()
        level = torch.maximum(level, level.amax((1, 2), keepdim=True) - 8.0)
        return (level + 4.0) / 4.0

    return run


def nemo() -> Callable[[Tensor], Tensor]:
    filters, window = slaney(512, 80), torch.hann_window(400, periodic=False)

    def run(waves: Tensor) -> Tensor:
        waves = torch.cat([waves[:, :1], waves[:, 1:] - 0.97 * waves[:, :-1]], 1)
        power = mel_of(waves, n_fft=512, hop=HOP, filters=filters, window=window, mode="constant")
        level = (power + 2**-24).log()
        return (level - level.mean(-1, keepdim=True)) / (level.std(-1, keepdim=True) + 1e-5)

    return run


def mel(n_fft: int, hop: int, n_mels: int, *, mode: str = "reflect", log: bool = False, **settings):
    filters, window = slaney(n_fft, n_mels, **settings), torch.hann_window(n_fft)

    def run(waves: Tensor) -> Tensor:
        power = mel_of(waves, n_fft=n_fft, hop=hop, filters=filters, window=window, mode=mode)
        return power.clamp(min=1e-10).log() if log else power

    return run


def kaldi_filters(n_mels: int) -> Tensor:
    scale = lambda hertz: 1127.0 * np.log1p(np.asarray(hertz) / 700.0)  # noqa: E731
    edges = np.linspace(scale(20.0), scale(RATE / 2), n_mels + 2)
    bins = scale(np.arange(PADDED // 2 + 1) * RATE / PADDED)[:, None]
    rise = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    return torch.from_numpy(np.maximum(np.minimum(rise, fall), 0).astype(np.float32))


def kaldi(n_mels: int) -> Callable[[Tensor], Tensor]:
    filters, window = kaldi_filters(n_mels), torch.hann_window(WIDTH, periodic=False) ** 0.85

    def run(waves: Tensor) -> Tensor:
        frames = waves.unfold(1, WIDTH, HOP)
        frames = frames - frames.mean(-1, keepdim=True)
        before = F.pad(frames, (1, 0), mode="replicate")[..., :-1]
        power = torch.fft.rfft((frames - 0.97 * before) * window, PADDED).abs().square()
        return (power @ filters).clamp(min=EPS).log()

    return run


def mfcc() -> Callable[[Tensor], Tensor]:
    fbank, count = kaldi(23), torch.arange(23.0)
    cosines = torch.cos(math.pi / 23 * (count[:, None] + 0.5) * count[None, :13]) * math.sqrt(2 / 23)
    cosines[:, 0] = math.sqrt(1 / 23)
    lifter = 1 + 11 * torch.sin(math.pi * torch.arange(13.0) / 22)
    return lambda waves: (fbank(waves) @ cosines) * lifter


def seamless() -> Callable[[Tensor], Tensor]:
    fbank = kaldi(80)

    def run(waves: Tensor) -> Tensor:
        level = fbank(waves * 32768.0)
        level = (level - level.mean(1, keepdim=True)) / (level.var(1, keepdim=True) + 1e-7).sqrt()
        return level[:, : level.shape[1] // 2 * 2].reshape(len(level), -1, 160)

    return run


def wav2vec2(waves: Tensor) -> Tensor:
    return (waves - waves.mean(1, keepdim=True)) / (waves.var(1, keepdim=True, correction=0) + 1e-7).sqrt()


def stft(waves: Tensor) -> Tensor:
    return torch.stft(waves, 400, HOP, window=torch.hann_window(400), return_complex=True)


def there_and_back(waves: Tensor) -> Tensor:
    return torch.istft(stft(waves), 400, HOP, window=torch.hann_window(400), length=waves.shape[1])


def resampler(old: int, new: int, *, zeros: int, rolloff: float, beta: float | None) -> Callable[[Tensor], Tensor]:
    """The windowed sinc of torchaudio: `beta` None is its default window, squared cosine, else Kaiser's."""
    shared = math.gcd(old, new)
    old, new = old // shared, new // shared
    cutoff = min(old, new) * rolloff
    reach = math.ceil(zeros * old / cutoff)
    at = torch.arange(-reach, reach + old, dtype=torch.float64)[None, None] / old
    at = (at - torch.arange(new, dtype=torch.float64)[:, None, None] / new) * cutoff
    at = at.clamp(-zeros, zeros)
    shape = torch.cos(at * math.pi / zeros / 2) ** 2
    if beta is not None:
        scale = torch.special.i0(torch.tensor(beta, dtype=torch.float64))
        shape = torch.special.i0(beta * (1 - (at / zeros) ** 2).clamp(min=0).sqrt()) / scale
    kernel = (torch.sinc(at) * shape * cutoff / old).float()

    def run(waves: Tensor) -> Tensor:
        padded = F.pad(waves, (reach, reach + old))
        wave = F.conv1d(padded[:, None], kernel, stride=old).transpose(1, 2).reshape(len(waves), -1)
        return wave[:, : -(-waves.shape[1] * new // old)]

    return run


DEFAULT = {"zeros": 6, "rolloff": 0.99, "beta": None}
BEST = {"zeros": 64, "rolloff": 0.9475937167399596, "beta": 14.769656459379492}
