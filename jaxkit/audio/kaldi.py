"""Kaldi's filter bank energies and cepstra."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.dft import power
from jaxkit.audio.extent import check
from jaxkit.audio.kaldi_frames import Framing, Prepared, featured, sizes
from jaxkit.audio.level import root
from jaxkit.audio.mel import mel_filters, mel_product
from jaxkit.ranges import number
from jaxkit.records import Clip, Features

Array = jax.Array
EPSILON = float(np.finfo(np.float32).eps)


def kaldi_fbank(
    clip: Clip,
    *,
    n_mels: int = 23,
    low: float = 20.0,
    high: float = 0.0,
    frame_ms: float = 25.0,
    hop_ms: float = 10.0,
    window: str = "povey",
    preemphasis: float = 0.97,
    remove_dc: bool = True,
    snip_edges: bool = True,
    power_of_two: bool = True,
    input_scale: str = "int16",
    log: bool = True,
    use_power: bool = True,
    floor: float = EPSILON,
    use_energy: bool = False,
    raw_energy: bool = True,
    energy_floor: float = 0.0,
    htk_compat: bool = False,
) -> Features:
    """Kaldi's log mel filter bank energies (`compute-fbank-feats`), without dither; the defaults are Kaldi's.

    Each frame loses its mean, is emphasised and windowed; the energies are natural logarithms of sums of its power
    spectrum under triangles that are linear in mel. The recipes of lhotse and icefall are `n_mels=80,
    snip_edges=False, high=-400, input_scale="unit"`. Dither belongs to training: `chain(dither(), ...)`.

    Args:
      clip: one clip of any rate.
      n_mels: number of filters.
      low: where the first filter begins, in Hz.
      high: where the last filter ends, in Hz; at most 0: so much below half the rate.
      frame_ms: length of a frame in milliseconds.
      hop_ms: time from one frame to the next in milliseconds.
      window: `povey`, `hamming`, `hann`, `blackman`, `sine` or `rectangular`, symmetric.
      preemphasis: the share of the sample before that each sample loses.
      remove_dc: whether frames lose their mean.
      snip_edges: whether only frames within the clip are made: `1 + (T - width) // hop`; else the clip is mirrored at
        its ends, and there are `(T + hop // 2) // hop`.
      power_of_two: whether the Fourier transform is as long as the next power of two; else as long as a frame.
      input_scale: `int16` multiplies the wave by 32768, as Kaldi reads its files; `unit` leaves it (torchaudio,
        lhotse).
      log: whether logarithms are taken.
      use_power: whether power is summed; else magnitudes.
      floor: what energies are raised to before the logarithm.
      use_energy: whether the log energy of the frame is one more value, in front.
      raw_energy: whether that energy is taken before emphasis and window.
      energy_floor: what that energy is raised to; 0: nothing.
      htk_compat: whether it comes last.

    Returns:
      `[frames, n_mels]`, or `[frames, n_mels + 1]` with the energy.

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if a setting is out of its range.
    """
    check(clip)
    framing = Framing(frame_ms, hop_ms, window, preemphasis, remove_dc, snip_edges, input_scale)
    filters, n_fft = _filters(clip, framing, n_mels, low, high, power_of_two)
    energy = functools.partial(_log_energy, raw_energy=raw_energy, floor=number("energy_floor", energy_floor))

    def values(prepared):
        mels = _mels(prepared.frames, filters, use_power)
        mels = jnp.log(jnp.maximum(mels, floor)) if log else mels
        parts = [energy(prepared), mels] if use_energy else [mels]
        return jnp.concatenate(parts[::-1] if htk_compat else parts, axis=1)

    return featured(clip, framing, n_fft, values)


def kaldi_mfcc(
    clip: Clip,
    *,
    n_ceps: int = 13,
    n_mels: int = 23,
    low: float = 20.0,
    high: float = 0.0,
    frame_ms: float = 25.0,
    hop_ms: float = 10.0,
    window: str = "povey",
    preemphasis: float = 0.97,
    remove_dc: bool = True,
    snip_edges: bool = True,
    power_of_two: bool = True,
    input_scale: str = "int16",
    use_energy: bool = True,
    raw_energy: bool = True,
    energy_floor: float = 0.0,
    lifter: float = 22.0,
    htk_compat: bool = False,
) -> Features:
    """Kaldi's mel frequency cepstra (`compute-mfcc-feats`), without dither; the defaults are Kaldi's.

    The orthonormal cosine transform of `kaldi_fbank`, its coefficients raised by a lifter.

    Args:
      clip: one clip of any rate.
      n_ceps: how many coefficients are kept, at most `n_mels`.
      n_mels: number of filters.
      low: where the first filter begins, in Hz.
      high: where the last filter ends, in Hz; at most 0: so much below half the rate.
      frame_ms: length of a frame in milliseconds.
      hop_ms: time from one frame to the next in milliseconds.
      window: `povey`, `hamming`, `hann`, `blackman`, `sine` or `rectangular`, symmetric.
      preemphasis: the share of the sample before that each sample loses.
      remove_dc: whether frames lose their mean.
      snip_edges: whether only frames within the clip are made (see `kaldi_fbank`).
      power_of_two: whether the Fourier transform is as long as the next power of two; else as long as a frame.
      input_scale: `int16` multiplies the wave by 32768, as Kaldi reads its files; `unit` leaves it.
      use_energy: whether the log energy of the frame replaces the first coefficient (not so in torchaudio).
      raw_energy: whether that energy is taken before emphasis and window.
      energy_floor: what that energy is raised to; 0: nothing.
      lifter: coefficient k is multiplied by `1 + lifter / 2 * sin(pi * k / lifter)`; 0: not at all.
      htk_compat: whether the first coefficient comes last, times sqrt(2) where it is not the energy.

    Returns:
      `[frames, n_ceps]`.

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if a setting is out of its range.
    """
    check(clip)
    if type(n_ceps) is not int or not 1 <= n_ceps <= n_mels:
        raise ValueError(f"n_ceps must be an int within [1, n_mels = {n_mels}], got {n_ceps!r}")
    framing = Framing(frame_ms, hop_ms, window, preemphasis, remove_dc, snip_edges, input_scale)
    filters, n_fft = _filters(clip, framing, n_mels, low, high, power_of_two)
    cosines = _cosines(n_ceps, n_mels, number("lifter", lifter), htk_compat and not use_energy)
    energy = functools.partial(_log_energy, raw_energy=raw_energy, floor=number("energy_floor", energy_floor))

    def values(prepared):
        mels = jnp.log(jnp.maximum(_mels(prepared.frames, filters, True), EPSILON))
        cepstra = jnp.matmul(mels, cosines.astype(np.float32), precision=jax.lax.Precision.HIGHEST)
        first = energy(prepared) if use_energy else cepstra[:, :1]
        parts = [first, cepstra[:, 1:]]
        return jnp.concatenate(parts[::-1] if htk_compat else parts, axis=1)

    return featured(clip, framing, n_fft, values)


def _filters(clip: Clip, framing: Framing, n_mels: int, low: float, high: float, power_of_two: bool) -> tuple:
    """The mel filters and the length of the Fourier transform."""
    width, _ = sizes(framing, clip.rate)
    n_fft = 1 << (width - 1).bit_length() if power_of_two else width
    end = high if high > 0 else clip.rate / 2 + high
    return mel_filters(n_mels, n_fft=n_fft, rate=clip.rate, low=low, high=end, scale="kaldi"), n_fft


def _mels(frames: Array, filters: np.ndarray, use_power: bool) -> Array:
    squares = power(frames, frames.shape[1])
    return mel_product(squares if use_power else root(squares), filters)


def _log_energy(prepared: Prepared, *, raw_energy: bool, floor: float) -> Array:
    """`[N, 1]`."""
    energy = prepared.raw_energy if raw_energy else jnp.square(prepared.frames).sum(axis=1, keepdims=True)
    return jnp.log(jnp.maximum(energy, max(EPSILON, floor)))


@functools.cache
def _cosines(n_ceps: int, n_mels: int, lifter: float, louder: bool) -> np.ndarray:
    """The orthonormal cosine transform and the lifter, `[n_mels, n_ceps]`."""
    order = np.arange(n_ceps)
    cosines = np.cos(np.pi / n_mels * (np.arange(n_mels)[:, None] + 0.5) * order) * np.sqrt(2.0 / n_mels)
    cosines[:, 0] = np.sqrt((2.0 if louder else 1.0) / n_mels)
    return cosines * (1.0 + 0.5 * lifter * np.sin(np.pi * order / lifter)) if lifter else cosines
