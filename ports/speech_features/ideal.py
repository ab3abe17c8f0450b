"""Resampling by a Fourier transform of the whole clip in float64: exact wherever a filter has no say."""

import math

import numpy as np
from scipy import fft, signal

SILENCE = 0.5  # seconds appended, since the transform takes the clip for a period
FLAT = 0.913  # of the lower half rate, as soxr has it


def resampled(wave: np.ndarray, rate: int, to: int) -> np.ndarray:
    """`[ceil(T * to / rate)]` float64: frequencies are kept up to 0.913 of the lower half rate, none beyond it."""
    if rate == to:
        return wave
    step = rate // math.gcd(rate, to)
    steps = fft.next_fast_len(math.ceil((len(wave) + SILENCE * rate) / step), real=True)
    padded = np.pad(wave.astype(np.float64), (0, steps * step - len(wave)))
    half = 0.5 * min(1, to / rate)
    made = signal.resample(padded, steps * step * to // rate, window=lambda cycles: roll_off(np.abs(cycles) / half))
    return made[: -(-len(wave) * to // rate)]


def roll_off(share: np.ndarray) -> np.ndarray:
    """From 1 to 0 between 0.913 and 1, like a cosine."""
    return 0.5 + 0.5 * np.cos(np.pi * np.clip((share - FLAT) / (1 - FLAT), 0, 1))
