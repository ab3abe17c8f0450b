"""The spectrum of frames: the only discrete Fourier transform of `audio`'s features."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array


def spectrum(frames: Array, n_fft: int) -> tuple[Array, Array]:
    """The discrete Fourier transform of real frames, padded with zeros to `n_fft` samples.

    A fast transform on CPUs; elsewhere a matrix product at full float32 precision, which accelerators do faster. By
    themselves they would take a lower precision, which a spectrum does not survive: TF32 costs 1e-2 of a log-mel.

    Args:
      frames: `[..., width]` float32 with `width <= n_fft`.
      n_fft: length of the transform.

    Returns:
      Real and imaginary part, `[..., n_fft // 2 + 1]` float32 each.

    Raises:
      ValueError: if the frames are wider than the transform.
    """
    if frames.shape[-1] > n_fft:
        raise ValueError(f"frames of {frames.shape[-1]} samples do not fit into a transform of {n_fft}; raise n_fft")
    fast, product = (functools.partial(form, n_fft=n_fft) for form in (fast_spectrum, product_spectrum))
    return jax.lax.platform_dependent(frames, cpu=fast, default=product)


def power(frames: Array, n_fft: int) -> Array:
    """Squared magnitudes of `spectrum`, `[..., n_fft // 2 + 1]`."""
    real, imag = spectrum(frames, n_fft)
    return real * real + imag * imag


def frames_of_spectrum(real: Array, imag: Array, n_fft: int) -> Array:
    """The inverse of `spectrum`: real frames `[..., n_fft]`, by the same two forms.

    Args:
      real: `[..., n_fft // 2 + 1]` float32.
      imag: likewise; what it holds at 0 Hz, and at half the rate for an even `n_fft`, is not read.
      n_fft: length of the transform.
    """
    fast, product = (functools.partial(form, n_fft=n_fft) for form in (fast_frames, product_frames))
    return jax.lax.platform_dependent(real, imag, cpu=fast, default=product)


def fast_spectrum(frames: Array, *, n_fft: int) -> tuple[Array, Array]:
    """What `spectrum` returns, by a fast Fourier transform."""
    whole = jnp.fft.rfft(frames, n=n_fft)
    return whole.real, whole.imag


def product_spectrum(frames: Array, *, n_fft: int) -> tuple[Array, Array]:
    """What `spectrum` returns, by a product with cosines and sines."""
    waves = _waves(frames.shape[-1], n_fft)
    both = jnp.matmul(frames, waves.astype(frames.dtype), precision=jax.lax.Precision.HIGHEST)
    return both[..., : n_fft // 2 + 1], both[..., n_fft // 2 + 1 :]


def fast_frames(real: Array, imag: Array, *, n_fft: int) -> Array:
    """What `frames_of_spectrum` returns, by a fast Fourier transform."""
    return jnp.fft.irfft(jax.lax.complex(real, imag), n=n_fft)


def product_frames(real: Array, imag: Array, *, n_fft: int) -> Array:
    """What `frames_of_spectrum` returns, by a product with cosines and sines."""
    once = [0, n_fft // 2] if n_fft % 2 == 0 else [0]
    weights = np.full(n_fft // 2 + 1, 2.0 / n_fft)
    weights[once] = 1.0 / n_fft
    waves = (_waves(n_fft, n_fft) * np.tile(weights, 2)).T.astype(real.dtype)
    both = jnp.concatenate([real, imag], axis=-1)
    return jnp.matmul(both, waves, precision=jax.lax.Precision.HIGHEST)


@functools.cache
def _waves(width: int, n_fft: int) -> np.ndarray:
    """Cosines, then negative sines, `[width, 2 * (n_fft // 2 + 1)]`."""
    # The remainder keeps the angles exact for large transforms.
    turns = np.outer(np.arange(width), np.arange(n_fft // 2 + 1)) % n_fft
    angles = 2 * np.pi * turns / n_fft
    return np.concatenate([np.cos(angles), -np.sin(angles)], axis=1)
