"""Speech for the tests: real recordings where there are some, else clips that are made up."""

import functools
import os
from pathlib import Path

import numpy as np

RATE = 16000
FULL_SCALE = 32768.0


@functools.cache
def clips() -> tuple[tuple[str, np.ndarray], ...]:
    """Named waves `[T]` float32 at 16 kHz, of 1 to 8 seconds.

    The recordings (16 bits, 16 kHz) below the folder `JAXKIT_SPEECH`, such as that of Debian's pocketsphinx-testdata;
    without that variable, clips that are made up.
    """
    folder = os.environ.get("JAXKIT_SPEECH")
    found = _recordings(Path(folder)) if folder else tuple((f"voice {i}", _voice(i)) for i in range(4))
    if not found:
        raise FileNotFoundError(f"JAXKIT_SPEECH names {folder}, which has no librivox/*.wav or *.raw")
    return found


def _recordings(folder: Path) -> tuple[tuple[str, np.ndarray], ...]:
    paths = sorted(folder.glob("librivox/*.wav")) + sorted(folder.glob("*.raw"))
    return tuple((path.stem, _samples(path)) for path in paths)


def _samples(path: Path) -> np.ndarray:
    data = path.read_bytes()[44 if path.suffix == ".wav" else 0 :]
    return (np.frombuffer(data[: len(data) // 2 * 2], "<i2") / FULL_SCALE).astype(np.float32)


def _voice(seed: int) -> np.ndarray:
    """Pulses of a wandering pitch through three resonances, in syllables with pauses between them."""
    rng = np.random.default_rng(seed)
    time = np.arange(int(RATE * rng.uniform(1.2, 4.0))) / RATE
    pitch = 120.0 + 30.0 * np.sin(2 * np.pi * 0.7 * time + rng.uniform(0, 6))
    phase = np.cumsum(pitch) / RATE
    wave = np.zeros_like(time)
    for formant, width in ((500, 80), (1500, 120), (2500, 160)):
        harmonics = np.arange(1, 40)
        weight = 1 / (1 + ((harmonics * 120.0 - formant) / width) ** 2)
        wave += sum(w * np.sin(2 * np.pi * h * phase) for h, w in zip(harmonics, weight, strict=True))
    syllables = np.clip(np.sin(2 * np.pi * 2.5 * time) + 0.3, 0, 1)
    wave = wave * syllables / np.abs(wave).max() * 0.5 + rng.normal(0, 3e-4, time.shape)
    return wave.astype(np.float32)
