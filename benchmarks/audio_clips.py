"""The batches that are measured: sizes, generated clips, noises and impulse responses."""

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

RATE = 16000


class Size(NamedTuple):
    """A batch of clips of equal length."""

    count: int
    seconds: int

    def __str__(self) -> str:
        return f"{self.count} x {self.seconds} s"


SIZES = {"long": Size(8, 30), "short": Size(64, 3)}


@functools.lru_cache(maxsize=4)
def clips(size: Size, *, rate: int = RATE, seed: int = 0) -> np.ndarray:
    """Waves `[B, T]` float32 within [-1, 1]: four tones and noise, in syllables."""
    rng = np.random.default_rng(seed)
    time = np.arange(size.seconds * rate, dtype=np.float32) / rate
    out = np.empty((size.count, len(time)), np.float32)
    for wave in out:
        tones = sum(np.sin(2 * np.pi * pitch * time) for pitch in rng.uniform(80, 3000, 4)).astype(np.float32)
        syllables = np.clip(np.sin(2 * np.pi * 3.0 * time + rng.uniform(0, 6)), 0, 1).astype(np.float32)
        wave[:] = (0.1 * tones + 0.1 * rng.standard_normal(len(time), np.float32)) * syllables
        wave += 1e-3 * rng.standard_normal(len(time), np.float32)
    return np.clip(out, -1, 1)


def noises(*, rate: int = RATE) -> list[np.ndarray]:
    """Ten noises of 2 to 20 seconds, each of its own colour."""
    rng = np.random.default_rng(1)
    found = []
    for seconds in range(2, 22, 2):
        spectrum = np.fft.rfft(rng.standard_normal(seconds * rate))
        spectrum[1:] /= np.arange(1, len(spectrum)) ** rng.uniform(0, 1)
        wave = np.fft.irfft(spectrum)
        found.append((0.3 * wave / np.abs(wave).max()).astype(np.float32))
    return found


def responses(*, rate: int = RATE) -> list[np.ndarray]:
    """Ten impulse responses: a direct path, then noise that decays by 60 dB within 0.2 to 0.7 seconds."""
    rng = np.random.default_rng(2)
    found = []
    for duration in np.linspace(0.2, 0.7, 10):
        time = np.arange(round(duration * rate)) / rate
        tail = 0.1 * rng.standard_normal(len(time)) * 10 ** (-3 * time / duration)
        tail[:40] = 0
        tail[40] = 1
        found.append(tail.astype(np.float32))
    return found


def write_banks(folder: Path) -> None:
    """The noises and responses as WAV files in folders of these names, for libraries that read files."""
    import soundfile

    for name, waves in (("noises", noises()), ("responses", responses())):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for index, wave in enumerate(waves):
            soundfile.write(folder / name / f"{index}.wav", wave, RATE, subtype="FLOAT")
