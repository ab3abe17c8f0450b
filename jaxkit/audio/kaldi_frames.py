"""Frames as Kaldi makes them: how many, what they hold at the ends of a clip, and what is done to each."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.extent import length as extent
from jaxkit.audio.extent import silenced
from jaxkit.audio.frames import frames
from jaxkit.audio.windows import window
from jaxkit.boundary import in_turn
from jaxkit.ranges import number, one_of_names
from jaxkit.records import Clip, Features

Array = jax.Array
SCALES = {"int16": 32768.0, "unit": 1.0}
# So many frames and their spectra stay in the cache of one CPU core.
CHUNK = 128


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


def mirrored(wave: Array, length: Array | int, *, before: int, after: int) -> Array:
    """The wave with its mirror image in front of it and behind its true end, edge samples included.

    Args:
      wave: `[T]`.
      length: how many samples of it are valid.
      before: samples in front.
      after: samples behind.

    Returns:
      `[before + T + after]`. What lies further behind than `after` is zero.
    """
    if wave.shape[0] == 0:
        return jnp.zeros((before + after,), wave.dtype)
    start, end = (_folded(wave, places, length) for places in (np.arange(-before, 0), length + np.arange(after)))
    widened = jnp.concatenate([start, wave, jnp.zeros((after,), wave.dtype)])
    return jax.lax.dynamic_update_slice(widened, end, (before + length,))


def _folded(wave: Array, places: Array | np.ndarray, length: Array | int) -> Array:
    """Samples at places that lie outside, of a wave that continues as its own mirror image."""
    last = jnp.maximum(length, 1)
    within = jnp.asarray(places, jnp.int32) % (2 * last)
    return wave.at[jnp.where(within < last, within, 2 * last - 1 - within)].get(mode="promise_in_bounds")


def featured(clip: Clip, framing: Framing, function: Callable[[Array], Array]) -> Features:
    """Features of a clip, from a function of the frames of Kaldi.

    Args:
      clip: one clip.
      framing: which frames.
      function: of some raw frames `[N, width]`, to their features `[N, bins]`.
    """
    width, hop = sizes(framing, clip.rate)
    scale = SCALES[one_of_names("input_scale", framing.input_scale, tuple(SCALES))]
    count_of = lambda samples: frame_count(samples, width=width, hop=hop, snip_edges=framing.snip_edges)  # noqa: E731
    count = count_of(clip.wave.shape[0])
    shift = 0 if framing.snip_edges else width // 2 - hop // 2

    def body(clip: Clip) -> Array:
        wave = silenced(clip).wave.astype(jnp.float32) * scale
        if not framing.snip_edges:
            wave = mirrored(wave, extent(clip), before=max(shift, 0), after=width)[max(-shift, 0) :]
        values = in_chunks(function, wave, width=width, hop=hop, count=count)
        valid = jnp.arange(count) < count_of(extent(clip))
        return values if clip.length is None else jnp.where(valid[:, None], values, 0.0)

    return Features(in_turn(body, clip), None if clip.length is None else count_of(clip.length))


def in_chunks(function: Callable[[Array], Array], wave: Array, *, width: int, hop: int, count: int) -> Array:
    """`function` of the `count` frames of a wave: on a CPU of a chunk of them after the other, elsewhere of all."""
    if count <= CHUNK:
        return function(frames(wave, width=width, hop=hop, count=count))
    chunks = -(-count // CHUNK)
    span = (CHUNK - 1) * hop + width

    def chunked(wave):
        padded = jnp.pad(wave, (0, max(0, (chunks - 1) * CHUNK * hop + span - wave.shape[0])))
        part = lambda start: jax.lax.dynamic_slice(padded, (start,), (span,))  # noqa: E731
        of_part = lambda start: function(frames(part(start), width=width, hop=hop, count=CHUNK))  # noqa: E731
        values = jax.lax.map(of_part, jnp.arange(chunks) * (CHUNK * hop))
        return values.reshape(chunks * CHUNK, -1)[:count]

    whole = lambda wave: function(frames(wave, width=width, hop=hop, count=count))  # noqa: E731
    return jax.lax.platform_dependent(wave, cpu=chunked, default=whole)


def prepared(frames: Array, framing: Framing) -> tuple[Array, Array]:
    """Frames ready for the Fourier transform, and those that their raw energy is taken of.

    Args:
      frames: `[N, width]` samples.
      framing: what is done to them.

    Returns:
      Emphasised and windowed frames, and frames without their mean, `[N, width]` each.
    """
    raw = frames - frames.mean(axis=1, keepdims=True) if framing.remove_dc else frames
    weights = jnp.asarray(window(framing.window, frames.shape[1], periodic=False), jnp.float32)
    share = number("preemphasis", framing.preemphasis)
    # The first sample loses a share of itself. The difference of neighbours is exact, `share * before` would not be.
    before = jnp.concatenate([raw[:, :1], raw[:, :-1]], axis=1)
    return ((raw - before) * share + raw * (1.0 - share)) * weights[None], raw
