"""Made-up speech and noise, written as files of the kinds that projects have: the same by seed, lengths always alike.

Speech: pulses of a wandering pitch through three resonances (a source-filter model; Fant, Acoustic Theory of Speech
Production, 1960), in syllables with pauses, before a faint noise floor. Noise: coloured noise and a hum.
"""

from pathlib import Path

import numpy as np
import soundfile
from scipy import signal

KINDS = (
    (16000, 1, "wav", "PCM_16"),
    (44100, 1, "flac", "PCM_16"),
    (48000, 1, "flac", "PCM_16"),
    (16000, 1, "flac", "PCM_16"),
    (22050, 1, "wav", "PCM_16"),
    (48000, 2, "wav", "PCM_24"),
    (8000, 1, "wav", "PCM_U8"),
    (44100, 2, "wav", "FLOAT"),
)  # rate, channels, format, width
SECONDS = (1.0, 12.0)
NOISES, NOISE_SECONDS, NOISE_RATE = 6, 30.0, 48000
FORMANTS = ((500.0, 80.0), (1500.0, 120.0), (2500.0, 160.0))  # Hz, and the bandwidth in Hz


def write_voices(folder: Path, count: int, *, seed: int = 0) -> list[str]:
    """`count` clips of 1 to 12 s, their rates and formats in turn."""
    return [write_voice(folder, index, seed=seed) for index in range(count)]


def write_voice(folder: Path, index: int, *, seed: int = 0) -> str:
    rate, channels, kind, width = KINDS[index % len(KINDS)]
    path = folder / f"voice-{index:05d}.{kind}"
    wave = voice(rate, round(rate * seconds(index)), np.random.default_rng((seed, index)))
    wave = wave if channels == 1 else np.stack([wave, 0.6 * np.roll(wave, 3)], axis=1)
    soundfile.write(path, wave, rate, subtype=width)
    return str(path)


def seconds(index: int) -> float:
    """How long a clip is: the golden ratio spreads any number of them evenly, most of them short."""
    low, high = SECONDS
    return low + (high - low) * (index * 0.6180339887498949 % 1) ** 1.5


def voice(rate: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """`[count]` float64 of about -20 dB, with near silence at both ends."""
    time = np.arange(count) / rate
    wander = 20 * np.sin(2 * np.pi * rng.uniform(0.3, 0.8) * time + rng.uniform(0, 6))
    phase = np.cumsum(rng.uniform(95, 210) + wander) / rate
    pulses = np.diff(np.floor(phase), prepend=0.0) + 0.02 * rng.normal(size=count)
    wave = sum(resonance(pulses, hz * rng.uniform(0.8, 1.2), width, rate) for hz, width in FORMANTS)
    edges = np.clip(np.minimum(time, time[-1] - time) / (0.15 * time[-1]) - 1, 0, 1)
    syllables = np.clip(np.sin(2 * np.pi * rng.uniform(2, 4) * time) + 0.4, 0, 1)
    wave = wave * edges * syllables
    return 0.5 * wave / np.abs(wave).max() + 3e-4 * rng.normal(size=count)


def resonance(wave: np.ndarray, hz: float, width: float, rate: int) -> np.ndarray:
    """A resonance of two poles; the gain is 1 at its middle."""
    radius, angle = np.exp(-np.pi * width / rate), 2 * np.pi * hz / rate
    poles = [1, -2 * radius * np.cos(angle), radius**2]
    gain = abs(np.polyval(poles[::-1], np.exp(-1j * angle)))
    return signal.lfilter([gain], poles, wave)


def write_noises(folder: Path, *, seed: int = 0) -> tuple[str, ...]:
    """Recordings of background as projects collect them: half a minute each at 48 kHz."""
    paths = []
    for index in range(NOISES):
        rng = np.random.default_rng((seed, index, 1))
        path = folder / f"noise-{index}.wav"
        soundfile.write(path, background(index, rng), NOISE_RATE, subtype="PCM_16")
        paths.append(str(path))
    return tuple(paths)


def background(index: int, rng: np.random.Generator) -> np.ndarray:
    """White to brown noise that swells, and a mains hum under every other one."""
    count = round(NOISE_RATE * NOISE_SECONDS)
    time = np.arange(count) / NOISE_RATE
    wave = signal.lfilter([1], [1, -0.98 * index / NOISES], rng.normal(size=count))
    wave = wave * (1.2 + np.sin(2 * np.pi * rng.uniform(0.1, 0.5) * time))
    hum = np.sin(2 * np.pi * 50 * time) + 0.5 * np.sin(2 * np.pi * 150 * time)
    wave = wave / np.abs(wave).max() + 0.2 * (index % 2) * hum
    return 0.3 * wave
