"""Short-time Fourier transform of a clip, and its inverse."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.dft import frames_of_spectrum, spectrum
from jaxkit.audio.extent import length
from jaxkit.audio.frame_mask import counted, valid
from jaxkit.audio.frames import frames, overlap_add
from jaxkit.audio.spectrogram import Layout, check_layout, edged, frame_count
from jaxkit.audio.windows import window as window_weights
from jaxkit.boundary import in_turn
from jaxkit.records import Clip, Features

Array = jax.Array
# Where the windows sum to less, nothing is left of a sample (`torch.istft`).
LEAST_SUM = 1e-11


def stft(
    clip: Clip,
    *,
    width: int = 400,
    hop: int = 160,
    n_fft: int | None = None,
    window: str = "hann",
    center: bool = True,
    pad_mode: str = "reflect",
) -> Features:
    """Short-time Fourier transform with a periodic window, as `torch.stft` and `librosa.stft` compute it.

    Args:
      clip: `[T]` floating.
      width: samples in a window.
      hop: samples from one frame to the next.
      n_fft: length of the transform; the window lies in its middle. None: `width`.
      window: see `window`.
      center: whether frame `i` has its middle at sample `i * hop`, so that there are `1 + T // hop` frames (for an even
        `n_fft`); else it begins there, and frames lie inside the clip.
      pad_mode: what centred frames see beyond the true ends of the clip: `reflect`, `constant` or `edge`.

    Returns:
      Features whose values are `[frames, n_fft // 2 + 1]` complex64.

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if a size is no positive int, the window does not fit into the transform, or a name is unknown.
    """
    layout = Layout(width, hop, n_fft or width, window, center=center, pad_mode=pad_mode)
    check_layout(layout)
    return in_turn(functools.partial(_stft, layout=layout), clip)


def istft(
    spectra: Features,
    *,
    width: int = 400,
    hop: int = 160,
    n_fft: int | None = None,
    window: str = "hann",
    center: bool = True,
    samples: int | None = None,
    length: Array | None = None,
    rate: int = 16000,
) -> Clip:
    """The clip whose `stft` comes closest to the given one (Griffin and Lim 1984), as `torch.istft` computes it.

    Args:
      spectra: values `[frames, n_fft // 2 + 1]` complex64, from `stft` with the same settings. Frames beyond the
        length are not read.
      width: samples in a window.
      hop: samples from one frame to the next.
      n_fft: length of the transform. None: `width`.
      window: see `window`.
      center: whether frames are centred.
      samples: size of the returned wave. None: what all frames cover, without the half frame at either end that
        centred frames have outside of the clip.
      length: how many samples are valid. None: all, or, if the features have a length, what the valid frames cover.
      rate: sample rate in Hz of the clip.

    Returns:
      Clip of `[samples]` float32; zeros where no window reaches.

    Raises:
      ValueError: if a size is no positive int or does not fit the values, or there is no such window.
    """
    layout = Layout(width, hop, n_fft or width, window, center=center)
    check_layout(layout)
    if spectra.values.ndim != 2 or spectra.values.shape[1] != layout.n_fft // 2 + 1:
        raise ValueError(f"n_fft={layout.n_fft} has [frames, {layout.n_fft // 2 + 1}] bins, got {spectra.values.shape}")
    samples = _covered(spectra.values.shape[0], layout) if samples is None else samples
    if length is None and spectra.length is not None:
        length = jnp.clip(_covered(spectra.length, layout), 0, samples)
    wave = in_turn(functools.partial(_istft, layout=layout, samples=samples), spectra)
    if length is not None:
        wave = jnp.where(jnp.arange(samples, dtype=jnp.int32) < length, wave, 0)
    return Clip(wave, None if length is None else jnp.asarray(length, jnp.int32), rate)


def _stft(clip: Clip, *, layout: Layout) -> Features:
    count = frame_count(clip.wave.shape[0], layout)
    wave = edged(clip, layout)
    parts = frames(wave, width=layout.n_fft, hop=layout.hop, count=count) * _weights(layout).astype(wave.dtype)[None]
    return counted(jax.lax.complex(*spectrum(parts, layout.n_fft)), frame_count(length(clip), layout), clip)


def _istft(spectra: Features, *, layout: Layout, samples: int) -> Array:
    values, weights = spectra.values, _weights(layout)
    parts = frames_of_spectrum(values.real, values.imag, layout.n_fft) * weights.astype(values.real.dtype)[None]
    squares = jnp.broadcast_to((weights**2).astype(parts.dtype), parts.shape)
    if spectra.length is not None:
        inside = valid(values, spectra.length)
        parts, squares = jnp.where(inside, parts, 0), jnp.where(inside, squares, 0)
    total, share = (_placed(overlap_add(rows, hop=layout.hop), layout, samples) for rows in (parts, squares))
    seen = share > LEAST_SUM
    return jnp.where(seen, total / jnp.where(seen, share, 1), 0)


def _placed(wave: Array, layout: Layout, samples: int) -> Array:
    """The first `samples` of a sum of frames, without the half frame before the clip."""
    wave = wave[layout.n_fft // 2 if layout.center else 0 :][:samples]
    return jnp.pad(wave, (0, samples - wave.shape[0]))


def _covered(count: int | Array, layout: Layout) -> int | Array:
    """How many samples `count` frames cover."""
    whole = (count - 1) * layout.hop + layout.n_fft - (2 * (layout.n_fft // 2) if layout.center else 0)
    return max(whole, 0) * (count > 0) if isinstance(count, int) else jnp.where(count > 0, jnp.maximum(whole, 0), 0)


def _weights(layout: Layout) -> np.ndarray:
    """The window within the transform, `[n_fft]`."""
    before = (layout.n_fft - layout.width) // 2
    weights = window_weights(layout.window, layout.width, periodic=layout.periodic)
    return np.pad(weights, (before, layout.n_fft - layout.width - before))
