"""torch-audiomentations on a batch, with parameters per example, in two threads.

The library imports torchaudio, whose wheel needs CUDA libraries. Here a stand-in serves what the library asks of it:
reading WAV files, by soundfile. What needs more of torchaudio (`PitchShift`) is left out.
"""

import importlib.machinery
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import torch

from benchmarks.audio_clips import RATE

BOTH = {"p": 1.0, "sample_rate": RATE, "output_type": "tensor"}
SNR = {"min_snr_in_db": 5.0, "max_snr_in_db": 20.0}


def load(path: str, frame_offset: int = 0, num_frames: int = -1) -> tuple[torch.Tensor, int]:
    wave, rate = soundfile.read(path, num_frames, frame_offset, dtype="float32", always_2d=True)
    return torch.from_numpy(wave.T.copy()), rate


def info(path: str) -> Any:
    found = soundfile.info(path)
    return types.SimpleNamespace(num_frames=found.frames, sample_rate=found.samplerate)


def library() -> Any:
    """The library, imported over the stand-in."""
    if "torch_audiomentations" not in sys.modules:
        for name in ("torchaudio", "torchaudio.transforms"):
            module = types.ModuleType(name)
            module.__spec__ = importlib.machinery.ModuleSpec(name, None)
            sys.modules[name] = module
        sys.modules["torchaudio"].load, sys.modules["torchaudio"].info = load, info
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch_audiomentations

    return torch_audiomentations


PEERS: dict[str, Callable[[Any, Path], Any]] = {
    "add_noise": lambda T, folder: T.AddBackgroundNoise(folder / "noises", **SNR, **BOTH),
    "coloured_noise": lambda T, folder: T.AddColoredNoise(**SNR, **BOTH),
    "reverb": lambda T, folder: T.ApplyImpulseResponse(
        folder / "responses", compensate_for_propagation_delay=True, **BOTH
    ),
    "low_pass": lambda T, folder: T.LowPassFilter(**BOTH),
    "high_pass": lambda T, folder: T.HighPassFilter(**BOTH),
    "band_pass": lambda T, folder: T.BandPassFilter(**BOTH),
    "band_stop": lambda T, folder: T.BandStopFilter(**BOTH),
    "gain": lambda T, folder: T.Gain(-6.0, 6.0, **BOTH),
    "polarity": lambda T, folder: T.PolarityInversion(**BOTH),
    "reverse": lambda T, folder: T.TimeInversion(**BOTH),
    "shift": lambda T, folder: T.Shift(-0.5, 0.5, shift_unit="seconds", rollover=False, **BOTH),
    "shift_wrap": lambda T, folder: T.Shift(-0.5, 0.5, shift_unit="seconds", **BOTH),
}


def run(name: str, waves: np.ndarray, folder: Path) -> Callable[[], torch.Tensor]:
    """A call that makes the batch `[B, 1, T]`."""
    transform, tensor = PEERS[name](library(), folder), torch.from_numpy(waves)[:, None]

    def call() -> torch.Tensor:
        with torch.inference_mode(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return transform(tensor)

    return call
