"""The log-mel features of NeMo's recognisers: Parakeet, FastConformer, Canary."""

import functools

import jax
import jax.numpy as jnp

from jaxkit.audio.extent import check, inside, length
from jaxkit.audio.frame_mask import counted, valid
from jaxkit.audio.level import root
from jaxkit.audio.mel import mel_filters
from jaxkit.audio.spectrogram import Layout, check_layout, edged, filtered, precise
from jaxkit.boundary import in_turn
from jaxkit.ranges import flag, number
from jaxkit.records import Clip, Features

Array = jax.Array
RATE = 16000
GUARD = 2.0**-24
LEAST_SPREAD = 1e-5


def nemo_log_mel(
    clip: Clip,
    *,
    n_mels: int = 80,
    width: int = 400,
    hop: int = 160,
    n_fft: int = 512,
    preemphasis: float = 0.97,
    normalize: bool = True,
    pad_mode: str = "constant",
    last_frame: bool = False,
) -> Features:
    """NeMo's log-mel features: `AudioToMelSpectrogramPreprocessor`, `ParakeetFeatureExtractor` in transformers.

    Pre-emphasis of the wave, which ends where the clip ends; a symmetric Hann window of 25 ms every 10 ms, centred in
    a transform of 512, with silence beyond the ends; power spectra through Slaney's mel filters; `ln(x + 2**-24)`; then
    every filter gets the mean 0 and the standard deviation 1 (of `n - 1`) over the valid frames.

    Args:
      clip: `[T]` at 16 kHz.
      n_mels: 80 or 128.
      width: samples in the window.
      hop: samples from one frame to the next.
      n_fft: length of the transform.
      preemphasis: share of the sample before that is subtracted. 0: none.
      normalize: whether filters are normalised (`per_feature`).
      pad_mode: `constant`; checkpoints from before padding was made harmless used `reflect`.
      last_frame: whether the frame that begins at the end of the clip is kept: there are `T // hop` frames, or one
        more, as those old checkpoints had.

    Returns:
      `[frames, n_mels]` float32, zero beyond the length.

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if the rate is not 16000, or a setting is out of its range.
    """
    check(clip, rate=RATE)
    layout = Layout(width, hop, n_fft, periodic=False, pad_mode=pad_mode)
    check_layout(layout)
    flag("normalize", normalize)
    body = functools.partial(
        _log_mel,
        n_mels=n_mels,
        layout=layout,
        preemphasis=number("preemphasis", preemphasis),
        normalize=normalize,
        more=int(flag("last_frame", last_frame)),
    )
    return in_turn(body, clip)


def _log_mel(clip: Clip, *, n_mels: int, layout: Layout, preemphasis: float, normalize: bool, more: int) -> Features:
    filters = mel_filters(n_mels, n_fft=layout.n_fft, rate=RATE, scale="slaney", norm="slaney")
    every, count = (_count(samples, layout, more) for samples in (clip.wave.shape[0], length(clip)))
    powers = filtered(edged(_emphasised(clip, preemphasis), layout), filters, layout, count=every)
    logs = jnp.log(powers + GUARD)
    return counted(_normalised(logs, count) if normalize else logs, count, clip)


def _count(samples: int | Array, layout: Layout, more: int) -> int | Array:
    if isinstance(samples, int):
        return samples // layout.hop + more * (samples > 0)
    return samples // layout.hop + jnp.where(samples > 0, more, 0)


def _emphasised(clip: Clip, share: float) -> Clip:
    """The clip less a share of the sample before; the clip's first sample stays."""
    clip = precise(clip)
    wave = clip.wave
    before = jnp.concatenate([jnp.zeros_like(wave[:1]), wave[:-1]])
    return clip.replace(wave=jnp.where(inside(clip), wave - share * before, 0))


def _normalised(values: Array, count: int | Array) -> Array:
    """Every column with the mean 0 and the deviation 1 over its first `count` rows."""
    rows, size = valid(values, count), jnp.asarray(count, values.dtype)
    # From the first frame on, so that what never changes, such as silence, is zero and not what rounding leaves of it.
    values = values - values[:1]
    mean = jnp.where(rows, values, 0).sum(axis=0, keepdims=True) / jnp.maximum(size, 1)
    away = jnp.where(rows, values - mean, 0)
    variance = (away * away).sum(axis=0, keepdims=True) / jnp.maximum(size - 1, 1)
    return away / (root(variance) + LEAST_SPREAD)
