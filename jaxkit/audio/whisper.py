"""The log-mel spectrogram that Whisper and its kin were trained on."""

import functools

import jax
import jax.numpy as jnp

from jaxkit.audio.extent import check, length, silenced
from jaxkit.audio.frame_mask import counted, valid
from jaxkit.audio.mel import mel_filters
from jaxkit.audio.spectrogram import Layout, edged, filtered
from jaxkit.boundary import in_turn
from jaxkit.ranges import one_of_names
from jaxkit.records import Clip, Features

Array = jax.Array
RATE = 16000
WINDOW = 30 * RATE
LAYOUT = Layout(width=400, hop=160, n_fft=400)
FLOOR = 1e-10
FLOOR_LOG = -10.0
RANGE = 8.0
LOG10_E = 0.43429448190325176


def whisper_log_mel(
    clip: Clip,
    *,
    n_mels: int = 80,
    pad_to: int | None = WINDOW,
    scope: str = "example",
    peak: Array | float | None = None,
) -> Features:
    """Whisper's log-mel spectrogram (Radford et al. 2022, arXiv:2212.04356).

    A periodic Hann window of 25 ms every 10 ms, centred, with mirrored ends; power spectra through Slaney's mel filters
    of 0 to 8 kHz; log10, cut at 8 below the largest value, then `(x + 4) / 4`. The largest value is that of the clip,
    never that of a batch. Of the frames of `torch.stft` the last is dropped.

    Args:
      clip: `[T]` at 16 kHz.
      n_mels: 80, or 128 for large-v3 and turbo.
      pad_to: zeros are appended up to this many samples before anything is computed: 480000 is what the models
        read. The frames of that silence are kept. None: frames mirror at the true end of the clip, and there are
        `T // 160`.
      scope: what the clip is. `example`: what the model reads at once. `file`: a recording of any length, of which
        windows of 3000 frames will be cut, as openai-whisper's `transcribe` does: `pad_to` zeros follow its end.
      peak: the largest log10 of the recording that the clip was cut from, see `whisper_peak`. None: the clip's own.

    Returns:
      `[frames, n_mels]` float32; with `pad_to` also the frames beyond `length` hold what Whisper sees there. The valid
      frames are those whose middle lies in the clip; without `pad_to` or for a file, one fewer where `160` does not
      divide its length.

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if the rate is not 16000, there is no such scope, or the clip is longer than `pad_to`.
    """
    check(clip, rate=RATE)
    one_of_names("scope", scope, ("example", "file"))
    if scope == "file" and pad_to is None:
        raise ValueError("a file is followed by pad_to zeros, got pad_to=None; leave it at 480000")
    if scope == "example" and pad_to is not None and clip.wave.shape[0] > pad_to:
        raise ValueError(f"a clip of {clip.wave.shape[0]} samples is longer than pad_to={pad_to}; cut it to windows")
    body = functools.partial(_log_mel, n_mels=n_mels, pad_to=pad_to, scope=scope)
    return in_turn(body, clip) if peak is None else in_turn(body, clip, jnp.asarray(peak, jnp.float32))


def whisper_peak(clip: Clip, *, n_mels: int = 80) -> Array:
    """The largest log10 mel power of a clip, at least -10: of a recording's pieces, the maximum is its `peak`.

    Args:
      clip: `[T]` at 16 kHz.
      n_mels: as in `whisper_log_mel`.

    Returns:
      float32 scalar.

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if the rate is not 16000.
    """
    check(clip, rate=RATE)
    return in_turn(functools.partial(_peak, n_mels=n_mels), clip)


def _peak(clip: Clip, *, n_mels: int) -> Array:
    logs, count = _logs(clip, n_mels)
    return _largest(logs, count)


def _log_mel(clip: Clip, peak: Array | None = None, *, n_mels: int, pad_to: int | None, scope: str) -> Features:
    if pad_to is None:
        logs, count = _logs(clip, n_mels)
        return counted(_scaled(logs, _largest(logs, count) if peak is None else peak), count, clip)
    samples, inner = length(clip), silenced(clip).wave
    total = pad_to if scope == "example" else inner.shape[0] + pad_to
    logs, count = _logs(Clip(jnp.pad(inner, (0, total - inner.shape[0]))), n_mels)
    values = _scaled(logs, _largest(logs, count) if peak is None else peak)
    inside = samples // LAYOUT.hop if scope == "file" else -(-samples // LAYOUT.hop)
    return Features(values, jnp.asarray(inside, jnp.int32))


def _logs(clip: Clip, n_mels: int) -> tuple[Array, int | Array]:
    """log10 of the mel powers of `T // 160` frames, and how many of them are valid."""
    filters = mel_filters(n_mels, n_fft=LAYOUT.n_fft, rate=RATE, scale="slaney", norm="slaney")
    count = clip.wave.shape[0] // LAYOUT.hop
    powers = filtered(edged(clip, LAYOUT), filters, LAYOUT, count=count)
    return jnp.log(jnp.maximum(powers, FLOOR)) * LOG10_E, length(clip) // LAYOUT.hop


def _largest(logs: Array, count: int | Array) -> Array:
    return jnp.max(jnp.where(valid(logs, count), logs, FLOOR_LOG), initial=FLOOR_LOG)


def _scaled(logs: Array, peak: Array) -> Array:
    return (jnp.maximum(logs, peak - RANGE) + 4.0) / 4.0
