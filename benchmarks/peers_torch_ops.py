"""PyTorch code for what acts on features and on waves; see `peers_torch_audio` for what it stands for."""

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks import peers_torch_audio as front
from benchmarks.audio_clips import RATE, noises, responses

Tensor = torch.Tensor
Run = Callable[[Tensor], Tensor]


def cmvn(values: Tensor) -> Tensor:
    return (values - values.mean(1, keepdim=True)) / values.std(1, keepdim=True, correction=0).clamp(min=1e-10)


def deltas(values: Tensor) -> Tensor:
    """torchaudio's `compute_deltas` twice, as Kaldi appends them."""
    parts = [values]
    kernel = (torch.arange(-2.0, 3.0) / 10).repeat(values.shape[2], 1, 1)
    for _ in range(2):
        padded = F.pad(parts[-1].transpose(1, 2), (2, 2), mode="replicate")
        parts.append(F.conv1d(padded, kernel, groups=values.shape[2]).transpose(1, 2))
    return torch.cat(parts, 2)


def stacked(values: Tensor) -> Tensor:
    return values[:, : values.shape[1] // 4 * 4].reshape(len(values), -1, 4 * values.shape[2]).clone()


def spec_augment(values: Tensor) -> Tensor:
    """Policy LD without the warp; torchaudio's `mask_along_axis` takes one clip at a time to differ between them."""
    values = values.clone()
    for one in values:
        for axis, most in ((1, 27), (1, 27), (0, 100), (0, 100)):
            width = int(torch.rand(()) * min(most, one.shape[axis]))
            start = int(torch.rand(()) * (one.shape[axis] - width))
            one.narrow(axis, start, width).zero_()
    return values


def time_warp(values: Tensor) -> Tensor:
    out = torch.empty_like(values)
    for one, target in zip(values, out, strict=True):
        frames = one.shape[0]
        middle = int(torch.randint(80, frames - 80, ()))
        moved = middle + int(torch.randint(-79, 80, ()))
        for part, size, place in (
            (one[:middle], moved, slice(0, moved)),
            (one[middle:], frames - moved, slice(moved, None)),
        ):
            warped = F.interpolate(part[None, None], (size, one.shape[1]), mode="bicubic", align_corners=False)
            target[place] = warped[0, 0]
    return out


def speed() -> Run:
    """One of three factors a clip, as Kaldi does and torchaudio's `SpeedPerturbation`; a clip at a time."""
    kernels = [front.resampler(old, new, **front.DEFAULT) for old, new in ((9, 10), (1, 1), (11, 10))]
    return lambda waves: [kernels[int(torch.randint(3, ()))](one[None]) for one in waves]


def add_noise() -> Run:
    """Batched, once the noises have been chosen and repeated clip by clip."""
    bank = [torch.from_numpy(noise) for noise in noises()]

    def run(waves: Tensor) -> Tensor:
        size, parts = waves.shape[1], []
        for index in torch.randint(len(bank), (len(waves),)):
            noise = bank[index]
            noise = noise.repeat(-(-size // len(noise)) + 1)
            start = int(torch.randint(len(noise) - size, ()))
            parts.append(noise[start : start + size])
        noise = torch.stack(parts)
        ratio = 5 + 15 * torch.rand(len(waves), 1)
        factor = (waves.square().sum(1, keepdim=True) / noise.square().sum(1, keepdim=True)).sqrt()
        return waves + noise * factor * 10 ** (-ratio / 20)

    return run


def gaussian_snr(waves: Tensor) -> Tensor:
    noise = torch.randn_like(waves)
    factor = (waves.square().mean(1, keepdim=True) / noise.square().mean(1, keepdim=True)).sqrt()
    return waves + noise * factor * 10 ** (-(5 + 15 * torch.rand(len(waves), 1)) / 20)


def reverb() -> Run:
    """`torchaudio.functional.fftconvolve` with one response a clip, padded to the longest."""
    bank = torch.from_numpy(np.stack([np.pad(r, (0, 11200 - len(r))) for r in responses()]))

    def run(waves: Tensor) -> Tensor:
        size = 2 ** (waves.shape[1] + bank.shape[1] - 1).bit_length()
        chosen = torch.fft.rfft(bank[torch.randint(len(bank), (len(waves),))], size)
        return torch.fft.irfft(torch.fft.rfft(waves, size) * chosen, size)[:, 40 : 40 + waves.shape[1]]

    return run


def mu_law(waves: Tensor) -> Tensor:
    code = torch.sign(waves) * torch.log1p(255.0 * waves.abs()) / np.log1p(255.0)
    code = ((code + 1) / 2 * 255 + 0.5).long().float() / 255 * 2 - 1
    return torch.sign(code) * (torch.exp(code.abs() * np.log1p(255.0)) - 1) / 255


def mix_up(waves: Tensor) -> Tensor:
    weight = torch.distributions.Beta(0.4, 0.4).sample((len(waves), 1))
    return weight * waves + (1 - weight) * waves[torch.randperm(len(waves))]


RESAMPLED = {f"resample_{rate}": rate for rate in (48000, 44100, 8000)}
PEERS: dict[str, dict[str, Callable[[], Run]]] = {
    name: {"torch": make}
    for name, make in {
        "whisper_log_mel": lambda: front.whisper(80),
        "whisper_log_mel_128": lambda: front.whisper(128),
        "kaldi_fbank": lambda: front.kaldi(80),
        "kaldi_mfcc": front.mfcc,
        "nemo_log_mel": front.nemo,
        "seamless_fbank": front.seamless,
        "wav2vec2_norm": lambda: front.wav2vec2,
        "librosa_mel": lambda: front.mel(2048, 512, 128, mode="constant"),
        "torchaudio_mel": lambda: front.mel(400, 200, 128, htk=True, norm=None),
        "espnet_log_mel": lambda: front.mel(512, 128, 80, log=True),
        "stft": lambda: front.stft,
        "istft": lambda: front.there_and_back,
        "cmvn": lambda: cmvn,
        "deltas": lambda: deltas,
        "stack_frames": lambda: stacked,
        "spec_augment": lambda: spec_augment,
        "time_warp": lambda: time_warp,
        "speed": speed,
        "add_noise": add_noise,
        "gaussian_snr": lambda: gaussian_snr,
        "reverb": reverb,
        "mu_law": lambda: mu_law,
        "mix_up": lambda: mix_up,
    }.items()
} | {
    name: {
        "torch": lambda rate=rate: front.resampler(rate, RATE, **front.DEFAULT),
        "torch, kaiser_best": lambda rate=rate: front.resampler(rate, RATE, **front.BEST),
    }
    for name, rate in RESAMPLED.items()
}


def run(make: Callable[[], Run], values: np.ndarray) -> Callable[[], Tensor]:
    """A call that makes the batch."""
    function, tensor = make(), torch.from_numpy(values)

    def call() -> Tensor:
        with torch.inference_mode():
            return function(tensor)

    return call
