"""Mel filters, and their product with a spectrum."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.ranges import one_of_names

Array = jax.Array
# Slaney's scale is linear below 1000 Hz and logarithmic above.
LINEAR_HZ = 200.0 / 3.0
BREAK_HZ = 1000.0
BREAK_MEL = BREAK_HZ / LINEAR_HZ
LOG_STEP = np.log(6.4) / 27.0
MOST_FILTERS = 40


def mel_filters(
    n_mels: int,
    *,
    n_fft: int,
    rate: int,
    low: float = 0.0,
    high: float | None = None,
    scale: str = "htk",
    norm: str | None = None,
) -> np.ndarray:
    """Triangular filters, equally spaced on the mel scale.

    Args:
      n_mels: how many filters.
      n_fft: length of the Fourier transform whose bins are weighted.
      rate: sample rate in Hz.
      low: where the first filter begins, in Hz.
      high: where the last filter ends, in Hz. None: half the rate.
      scale: `htk` (2595 log10(1 + f / 700)) or `slaney` (linear below 1 kHz), with triangles that are linear in Hz
        (librosa, torchaudio); or `kaldi`: HTK's scale with triangles that are linear in mel, and without the bin of
        half the rate.
      norm: `slaney` divides each filter by half its width in Hz. None: each filter has the peak 1.

    Returns:
      `[n_fft // 2 + 1, n_mels]` float64, read-only.

    Raises:
      ValueError: if there is no such scale or norm, or not `0 <= low < high <= rate / 2`.
    """
    scale = one_of_names("scale", scale, ("htk", "slaney", "kaldi"))
    norm = one_of_names("norm", norm or "none", ("slaney", "none"))
    high = rate / 2 if high is None else high
    if not 0.0 <= low < high <= rate / 2:
        raise ValueError(f"mel filters need 0 <= low < high <= {rate / 2:g} Hz (half the rate), got {low} and {high}")
    if type(n_mels) is not int or n_mels < 1 or type(n_fft) is not int or n_fft < 2:
        raise ValueError(f"n_mels is an int of at least 1 and n_fft of at least 2, got {n_mels!r} and {n_fft!r}")
    return _filters(n_mels, n_fft, rate, float(low), float(high), scale, norm)


def hz_to_mel(hz: np.ndarray, *, scale: str = "htk") -> np.ndarray:
    """Frequencies in Hz on a mel scale, float64."""
    hz = np.asarray(hz, np.float64)
    if scale != "slaney":
        # 2595 / ln(10) is 1126.99; Kaldi rounds it.
        return 1127.0 * np.log1p(hz / 700.0) if scale == "kaldi" else 2595.0 * np.log10(1.0 + hz / 700.0)
    above = BREAK_MEL + np.log(np.maximum(hz, BREAK_HZ) / BREAK_HZ) / LOG_STEP
    return np.where(hz >= BREAK_HZ, above, hz / LINEAR_HZ)


def mel_to_hz(mel: np.ndarray, *, scale: str = "htk") -> np.ndarray:
    """The inverse of `hz_to_mel`, float64."""
    mel = np.asarray(mel, np.float64)
    if scale != "slaney":
        return 700.0 * np.expm1(mel / 1127.0) if scale == "kaldi" else 700.0 * (10.0 ** (mel / 2595.0) - 1.0)
    above = BREAK_HZ * np.exp(LOG_STEP * (np.maximum(mel, BREAK_MEL) - BREAK_MEL))
    return np.where(mel >= BREAK_MEL, above, mel * LINEAR_HZ)


def mel_product(spectrum: Array, filters: np.ndarray) -> Array:
    """A spectrum seen through filters, at full float32 precision.

    A filter reads few of the bins, so the product is split into blocks of neighbouring filters, each with the bins that
    it reads.

    Args:
      spectrum: `[..., bins]` floating.
      filters: `[bins, n_mels]`, such as `mel_filters` returns.

    Returns:
      `[..., n_mels]`.
    """
    parts = []
    for block in np.array_split(filters, -(-filters.shape[1] // MOST_FILTERS), axis=1):
        read = np.flatnonzero(block.any(axis=1))
        start, stop = (read[0], read[-1] + 1) if read.size else (0, 1)
        weights = block[start:stop].astype(spectrum.dtype)
        parts.append(jnp.matmul(spectrum[..., start:stop], weights, precision=jax.lax.Precision.HIGHEST))
    return jnp.concatenate(parts, axis=-1)


@functools.cache
def _filters(n_mels: int, n_fft: int, rate: int, low: float, high: float, scale: str, norm: str) -> np.ndarray:
    ends = hz_to_mel(np.array([low, high]), scale=scale)
    corners = np.linspace(ends[0], ends[1], n_mels + 2)
    bins = np.arange(n_fft // 2 + 1) * (rate / n_fft)
    hz = mel_to_hz(corners, scale=scale)
    across, corners = (hz_to_mel(bins, scale=scale), corners) if scale == "kaldi" else (bins, hz)
    left, peak, right = corners[:-2], corners[1:-1], corners[2:]
    rising = (across[:, None] - left) / (peak - left)
    falling = (right - across[:, None]) / (right - peak)
    filters = np.maximum(0.0, np.minimum(rising, falling))
    if scale == "kaldi" and n_fft % 2 == 0:
        filters[-1] = 0.0
    if norm == "slaney":
        filters *= 2.0 / (hz[2:] - hz[:-2])
    filters.setflags(write=False)
    return filters
