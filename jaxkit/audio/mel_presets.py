"""Mel spectrograms with the settings of librosa, torchaudio and ESPnet."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.extent import length
from jaxkit.audio.frame_mask import counted
from jaxkit.audio.mel import mel_filters
from jaxkit.audio.spectrogram import Layout, check_layout, frame_count, mel_frames
from jaxkit.boundary import in_turn
from jaxkit.ranges import number
from jaxkit.records import Clip, Features

Array = jax.Array
ESPNET_FLOOR = 1e-10


def librosa_mel(
    clip: Clip,
    *,
    n_mels: int = 128,
    n_fft: int = 2048,
    hop: int = 512,
    width: int | None = None,
    low: float = 0.0,
    high: float | None = None,
    scale: str = "slaney",
    norm: str | None = "slaney",
    power: float = 2.0,
    center: bool = True,
    pad_mode: str = "constant",
) -> Features:
    """Mel powers as `librosa.feature.melspectrogram` computes them, at the clip's own rate; `power_to_db` follows.

    Args:
      clip: `[T]` floating.
      n_mels: how many filters.
      n_fft: length of the transform.
      hop: samples from one frame to the next.
      width: samples in the Hann window. None: `n_fft`.
      low: lower end of the filters in Hz.
      high: upper end in Hz. None: half the rate.
      scale: `slaney` or `htk`.
      norm: `slaney` or None.
      power: exponent of the magnitudes.
      center: whether frame `i` has its middle at sample `i * hop`: `1 + T // hop` frames.
      pad_mode: what centred frames see beyond the true ends of the clip: `reflect`, `constant` or `edge`.

    Returns:
      `[frames, n_mels]` float32.

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if a setting is out of its range.
    """
    layout = Layout(width or n_fft, hop, n_fft, center=center, pad_mode=pad_mode)
    filters = mel_filters(n_mels, n_fft=n_fft, rate=clip.rate, low=low, high=high, scale=scale, norm=norm)
    return _mel(clip, filters, layout, power)


def torchaudio_mel(
    clip: Clip,
    *,
    n_mels: int = 128,
    n_fft: int = 400,
    width: int | None = None,
    hop: int | None = None,
    low: float = 0.0,
    high: float | None = None,
    scale: str = "htk",
    norm: str | None = None,
    power: float = 2.0,
    center: bool = True,
    pad_mode: str = "reflect",
) -> Features:
    """Mel powers as `torchaudio.transforms.MelSpectrogram` computes them, at the clip's own rate.

    Args:
      clip: `[T]` floating.
      n_mels: how many filters.
      n_fft: length of the transform.
      width: samples in the Hann window (`win_length`). None: `n_fft`.
      hop: samples from one frame to the next. None: half the window.
      low: lower end of the filters in Hz.
      high: upper end in Hz. None: half the rate.
      scale: `htk` or `slaney`.
      norm: `slaney` or None.
      power: exponent of the magnitudes.
      center: whether frame `i` has its middle at sample `i * hop`: `1 + T // hop` frames.
      pad_mode: what centred frames see beyond the true ends of the clip: `reflect`, `constant` or `edge`.

    Returns:
      `[frames, n_mels]` float32.

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if a setting is out of its range.
    """
    width = width or n_fft
    layout = Layout(width, hop or width // 2, n_fft, center=center, pad_mode=pad_mode)
    high = float(clip.rate // 2) if high is None else high
    filters = mel_filters(n_mels, n_fft=n_fft, rate=clip.rate, low=low, high=high, scale=scale, norm=norm)
    return _mel(clip, filters, layout, power)


def espnet_log_mel(
    clip: Clip,
    *,
    n_mels: int = 80,
    n_fft: int = 512,
    width: int | None = None,
    hop: int = 128,
    low: float = 0.0,
    high: float | None = None,
    scale: str = "slaney",
) -> Features:
    """Natural logarithms of mel powers, as ESPnet's default frontend computes them, without its normalisation.

    Args:
      clip: `[T]` floating, at the rate of the recipe.
      n_mels: how many filters, normalised as Slaney does.
      n_fft: length of the transform.
      width: samples in the Hann window (`win_length`). None: `n_fft`.
      hop: samples from one frame to the next (`hop_length`).
      low: lower end of the filters in Hz.
      high: upper end in Hz. None: half the rate.
      scale: `slaney` or `htk`.

    Returns:
      `[1 + T // hop, n_mels]` float32. Frames mirror at the true end of a padded clip.

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if a setting is out of its range.
    """
    layout = Layout(width or n_fft, hop, n_fft)
    check_layout(layout)
    filters = mel_filters(n_mels, n_fft=n_fft, rate=clip.rate, low=low, high=high, scale=scale, norm="slaney")
    return in_turn(functools.partial(_log_mel, filters=filters, layout=layout), clip)


def _mel(clip: Clip, filters: np.ndarray, layout: Layout, exponent: float) -> Features:
    check_layout(layout)
    if number("power", exponent) <= 0:
        raise ValueError(f"power is a positive exponent of the magnitudes, got {exponent!r}")
    return in_turn(functools.partial(mel_frames, filters=filters, layout=layout, exponent=exponent), clip)


def _log_mel(clip: Clip, *, filters: np.ndarray, layout: Layout) -> Features:
    powers = mel_frames(clip, filters, layout)
    logs = jnp.log(jnp.maximum(powers.values, ESPNET_FLOOR))
    return counted(logs, frame_count(length(clip), layout), clip)
