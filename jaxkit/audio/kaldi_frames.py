"""Frames as Kaldi makes them: how many, what they hold at the ends of a clip, and what is done to each."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.edges import SYMMETRIC, with_edges
from jaxkit.audio.extent import length as extent
from jaxkit.audio.extent import silenced
from jaxkit.audio.frame_mask import counted
from jaxkit.audio.frames import by_hop, in_parts
from jaxkit.audio.windows import window
from jaxkit.boundary import in_turn
from jaxkit.ranges import number, one_of_names
from jaxkit.records import Clip, Features

Array = jax.Array
SCALES = {"int16": 32768.0, "unit": 1.0}


class Framing(NamedTuple):
    """Settings of Kaldi's frames (`FrameExtractionOptions`).

    Attributes:
      frame_ms: length of a frame.
      hop_ms: time from one frame to the next.
      window: a name of `windows.window`; Kaldi's windows are symmetric.
      preemphasis: each sample loses this share of the one before it.
      remove_dc: whether the mean of a frame is subtracted first.
      snip_edges: whether only frames that lie within the clip are made; else the clip is mirrored at its ends, and
        there is one frame for each hop.
      input_scale: `int16` multiplies by 32768, as Kaldi reads its files; `unit` leaves [-1, 1].
    """

    frame_ms: float = 25.0
    hop_ms: float = 10.0
    window: str = "povey"
    preemphasis: float = 0.97
    remove_dc: bool = True
    snip_edges: bool = True
    input_scale: str = "int16"


class Prepared(NamedTuple):
    """Frames for the Fourier transform.

    Attributes:
      frames: `[N, n_fft]`, without their mean, emphasised, windowed and padded with zeros.
      raw_energy: `[N, 1]`, the sum of squares before emphasis and window.
    """

    frames: Array
    raw_energy: Array


def sizes(framing: Framing, rate: int) -> tuple[int, int]:
    """Samples in a frame and from one frame to the next.

    Raises:
      ValueError: if either is less than one sample.
    """
    in_ms = (number("frame_ms", framing.frame_ms), number("hop_ms", framing.hop_ms))
    width, hop = (int(Fraction(ms) * rate // 1000) for ms in in_ms)
    if width < 2 or hop < 1:
        raise ValueError(f"frames of {in_ms[0]} ms every {in_ms[1]} ms hold no samples at {rate} Hz; take longer ones")
    return width, hop


def frame_count(samples: Array | int, *, width: int, hop: int, snip_edges: bool) -> Array | int:
    """How many frames Kaldi makes of a clip of `samples`, which may be traced."""
    if not snip_edges:
        return (samples + hop // 2) // hop
    fitting = 1 + (samples - width) // hop
    return max(fitting, 0) if isinstance(samples, int) else jnp.maximum(fitting, 0)


def featured(clip: Clip, framing: Framing, n_fft: int, function: Callable[[Prepared], Array]) -> Features:
    """Features of a clip, from a function of the frames of Kaldi.

    Args:
      clip: one clip.
      framing: which frames.
      n_fft: how long the frames become.
      function: of some frames, to their features `[N, bins]`.
    """
    width, hop = sizes(framing, clip.rate)
    count_of = lambda samples: frame_count(samples, width=width, hop=hop, snip_edges=framing.snip_edges)  # noqa: E731
    count = count_of(clip.wave.shape[0])
    scale = SCALES[one_of_names("input_scale", framing.input_scale, tuple(SCALES))]
    shift = 0 if framing.snip_edges else width // 2 - hop // 2

    def body(clip: Clip) -> Features:
        wave = silenced(clip).wave.astype(jnp.float32) * scale
        if not framing.snip_edges:
            whole = clip.replace(wave=wave)
            wave = with_edges(whole, before=max(shift, 0), after=width, mode=SYMMETRIC)[max(-shift, 0) :]
        of_part = lambda part, count: function(prepared(part, framing, width, hop, count, n_fft))  # noqa: E731
        values = in_parts(of_part, wave, width=width, hop=hop, count=count)
        return counted(values, count_of(extent(clip)), clip)

    return in_turn(body, clip)


def prepared(wave: Array, framing: Framing, width: int, hop: int, count: int, n_fft: int) -> Prepared:
    """`count` frames of a wave, without their mean, emphasised, windowed and padded.

    With preemphasis `c`, `x[n] - c * x[n - 1]` is `c * (x[n] - x[n - 1]) + (1 - c) * x[n]`. Neighbours are alike, so
    nothing cancels but their difference, which is exact. Window and `c` are one weight.
    """
    spans = [(start, min(start + hop, width)) for start in range(0, width, hop)]
    rows, steps = (
        [part[i : i + count, : end - start] for i, (start, end) in enumerate(spans)]
        for part in (by_hop(samples, width=width, hop=hop, count=count) for samples in (wave, _steps(wave)))
    )
    mean = sum(row.sum(axis=1, keepdims=True) for row in rows) / width if framing.remove_dc else 0.0
    still, moving = _weights(framing, width)
    frames = [
        step * moving[None, start:end] + (row - mean) * still[None, start:end]
        for row, step, (start, end) in zip(rows, steps, spans, strict=True)
    ]
    raw_energy = sum(jnp.square(row - mean).sum(axis=1, keepdims=True) for row in rows)
    return Prepared(jnp.concatenate([*frames, jnp.zeros((count, n_fft - width), wave.dtype)], axis=1), raw_energy)


def _steps(wave: Array) -> Array:
    """From each sample to the next."""
    return wave - jnp.concatenate([wave[:1], wave[:-1]])


def _weights(framing: Framing, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Of the samples of a frame, and of the steps to them, `[width]` float32 each."""
    share = number("preemphasis", framing.preemphasis)
    weights = window(framing.window, width, periodic=False)
    # The first sample of a frame loses a share of itself, not of the sample before it.
    moving = share * weights * (np.arange(width) > 0)
    return ((1.0 - share) * weights).astype(np.float32), moving.astype(np.float32)
