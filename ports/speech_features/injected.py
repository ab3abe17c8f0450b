"""jaxkit's draws, handed to the slow program: both sides then have to make the same features."""

from collections.abc import Callable, Sequence

import jax
import librosa
import numpy as np

from . import fast, slow
from .files import Header, header

BAND = 0.85  # of the lower half rate: from 0.91 on filters for resampling differ, and windows leak some of that
Features = list[np.ndarray | None]


def draws(key: jax.Array, count: int, noises: Sequence[str]) -> list[slow.Draw]:
    """What `fast.prepare` draws for files 0 to `count`: it never sees the sound."""
    _, drawn, _ = fast.drawn(fast.recipe(tuple(noises)), key, count)
    columns = (drawn[name][:count].tolist() for name in ("member", "offset", "snr_db"))
    return [slow.Draw(*row) for row in zip(*columns, strict=True)]


def by_file(*, exact: bool, noises_kept: bool = False) -> Callable[..., Features]:
    """The slow program with the draws of the fast one: `(key, files, noises) -> features`.

    Args:
      exact: in float64, with ideal resampling.
      noises_kept: with the noises as the fast program has resampled them, so that their resampling is not compared.
    """

    def run(key: jax.Array, files: Sequence[str], noises: Sequence[str]) -> Features:
        bank, done = fast.bank_of(tuple(noises)), []
        for file, choice in zip(files, draws(key, len(files), noises), strict=True):
            kept = bank.wave(choice.noise).astype(np.float64 if exact else np.float32)
            noise = kept if noises_kept else slow.load(noises[choice.noise], exact=exact)
            done.append(slow.prepare_file(file, choice, noise, exact=exact))
        return done

    return run


def by_batch(key: jax.Array, files: Sequence[str], noises: Sequence[str]) -> Features:
    """The features that `fast.prepare` gives."""
    return fast.prepare(key, files, noises).features


def in_band(side: Callable[..., Features]) -> Callable[..., Features]:
    """A side whose features are zero where the resampling filters roll off."""

    def run(key: jax.Array, files: Sequence[str], noises: Sequence[str]) -> Features:
        found = zip(files, side(key, files, noises), strict=True)
        return [None if values is None else values * kept_mels(file).astype(values.dtype) for file, values in found]

    return run


def kept_mels(file: str) -> np.ndarray:
    """`[80]` bool: mels that do not reach into the roll-off at half the lower rate, nor into that of the noises."""
    edges = librosa.mel_frequencies(slow.MELS + 2, fmin=0, fmax=slow.RATE / 2)
    found = header(file)
    half = (found.rate if isinstance(found, Header) else slow.RATE) / 2
    outside = (edges[2:] <= BAND * half) | (edges[:-2] >= (2 - BAND) * half)
    return outside & (edges[2:] <= BAND * slow.RATE / 2)
