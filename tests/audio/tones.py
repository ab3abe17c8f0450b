"""Sums of tones, whose value is known at any time: the truth for whatever reads between samples."""

from typing import NamedTuple

import numpy as np


class Tones(NamedTuple):
    """Frequencies in cycles per sample and phases, `[N]` each."""

    frequency: np.ndarray
    phase: np.ndarray

    def at(self, time: np.ndarray) -> np.ndarray:
        """Their sum at times in samples, float64, with a standard deviation of 0.1."""
        angle = 2 * np.pi * self.frequency[:, None] * time[None] + self.phase[:, None]
        return np.sin(angle).sum(0) * 0.1 * np.sqrt(2 / len(self.frequency))


def tones(rng: np.random.Generator, *, below: float, count: int = 40) -> Tones:
    """Random tones of at most `below` cycles per sample, one of them just there."""
    frequency = rng.uniform(0.002, below, count)
    frequency[0] = below
    return Tones(frequency, rng.uniform(0, 2 * np.pi, count))


def ratio_db(truth: np.ndarray, got: np.ndarray, *, edge: int = 0) -> float:
    """Signal to noise in decibels, without `edge` values at either end."""
    truth, got = (np.asarray(v, np.float64)[edge : len(v) - edge] for v in (truth, got))
    return 10 * np.log10((truth**2).mean() / ((truth - got) ** 2).mean())
