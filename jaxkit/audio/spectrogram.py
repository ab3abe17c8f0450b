"""Frames of a clip and what filters see in their power spectra: the common middle of the mel presets."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.dft import power
from jaxkit.audio.edges import MODES, with_edges
from jaxkit.audio.extent import length, silenced
from jaxkit.audio.frame_mask import counted
from jaxkit.audio.frames import frames, in_parts
from jaxkit.audio.mel import mel_product
from jaxkit.audio.windows import SHAPES, window
from jaxkit.ranges import one_of_names
from jaxkit.records import Clip, Features

Array = jax.Array


class Layout(NamedTuple):
    """How a wave is cut into frames.

    Attributes:
      width: samples in a window.
      hop: samples from one frame to the next.
      n_fft: length of the Fourier transform, at least `width`. The window lies in its middle.
      window: name of the window.
      periodic: the kind of window.
      center: whether frame `i` has its middle at sample `i * hop`; else it begins there.
      pad_mode: what centred frames see beyond the ends of the clip: `reflect`, `constant` or `edge`.
    """

    width: int = 400
    hop: int = 160
    n_fft: int = 400
    window: str = "hann"
    periodic: bool = True
    center: bool = True
    pad_mode: str = "reflect"


def check_layout(layout: Layout) -> None:
    """Refuses frames that cannot be.

    Raises:
      ValueError: if a size is no positive int, the window does not fit into the transform, or a name is unknown.
    """
    for name, value in (("width", layout.width), ("hop", layout.hop), ("n_fft", layout.n_fft)):
        if type(value) is not int or value < 1:
            raise ValueError(f"{name} is a number of samples of at least 1, got {value!r}")
    if layout.width > layout.n_fft:
        raise ValueError(f"a window of {layout.width} samples does not fit into n_fft={layout.n_fft}; raise n_fft")
    one_of_names("window", layout.window, tuple(SHAPES))
    one_of_names("pad_mode", layout.pad_mode, MODES)


def frame_count(samples: int | Array, layout: Layout) -> int | Array:
    """How many frames a clip of `samples` has: `1 + samples // hop` for centred frames, as `torch.stft` counts.

    Otherwise only frames that lie inside the clip count. An empty clip has none.
    """
    seen = samples + 2 * (layout.n_fft // 2) if layout.center else samples
    count = (seen - layout.n_fft) // layout.hop + 1
    if isinstance(samples, int):
        return max(count, 0) if samples else 0
    return jnp.where(samples > 0, jnp.maximum(count, 0), 0).astype(jnp.int32)


def precise(clip: Clip) -> Clip:
    """The clip, silent beyond its length, in float32 if it comes in half precision."""
    clip = silenced(clip)
    return clip if clip.wave.dtype.itemsize >= 4 else clip.replace(wave=clip.wave.astype(jnp.float32))


def edged(clip: Clip, layout: Layout) -> Array:
    """The wave as frames see it: in float32, silent beyond its length, with edges where the frames are centred."""
    clip = precise(clip)
    half = layout.n_fft // 2 if layout.center else 0
    return with_edges(clip, before=half, after=half, mode=layout.pad_mode)


def filtered(wave: Array, filters: np.ndarray, layout: Layout, *, count: int, exponent: float = 2.0) -> Array:
    """What filters see in the spectra of the first `count` frames.

    Args:
      wave: from `edged`.
      filters: `[n_fft // 2 + 1, bands]`.
      layout: of the frames.
      count: how many frames.
      exponent: 2 for the power, 1 for the magnitude of a spectrum.

    Returns:
      `[count, bands]`.
    """
    weights = window(layout.window, layout.width, periodic=layout.periodic).astype(wave.dtype)
    # Zeros to the left of a window change the phase of a spectrum only.
    wave = wave[(layout.n_fft - layout.width) // 2 :]

    def bands(part: Array, count: int) -> Array:
        rows = frames(part, width=layout.width, hop=layout.hop, count=count) * weights[None]
        return mel_product(_raised(power(rows, layout.n_fft), exponent), filters)

    return in_parts(bands, wave, width=layout.width, hop=layout.hop, count=count)


def mel_frames(clip: Clip, filters: np.ndarray, layout: Layout, *, exponent: float = 2.0) -> Features:
    """What filters see in the spectra of all frames of a clip; see `filtered`."""
    count = frame_count(clip.wave.shape[0], layout)
    values = filtered(edged(clip, layout), filters, layout, count=count, exponent=exponent)
    return counted(values, frame_count(length(clip), layout), clip)


def _raised(powers: Array, exponent: float) -> Array:
    """Powers of magnitudes from squared magnitudes, with a derivative of zero at zero."""
    if exponent == 2.0:
        return powers
    sound = powers > 0
    return jnp.where(sound, jnp.where(sound, powers, 1) ** (exponent / 2.0), 0)
