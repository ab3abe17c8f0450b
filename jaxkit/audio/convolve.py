"""Convolution of a wave with a long kernel, by FFT in overlapping blocks."""

import functools
import math

import jax
import jax.numpy as jnp

from jaxkit.audio.frames import frames

Array = jax.Array
LEAST_FFT = 2**8
CACHED = 2**17


def convolved(wave: Array, kernel: Array, *, ahead: int) -> Array:
    """The convolution of `[T]` with `[K]`, cut to `[T]` so that tap `ahead` of the kernel is time zero.

    Overlap-save: blocks of the wave that fit into the cache are transformed, multiplied and transformed back. Only
    float32, with errors of 1e-6 of the largest value.

    Args:
      wave: `[T]` float32.
      kernel: `[K]` float32, of at least one tap.
      ahead: how many taps come before time zero, fewer than K.
    """
    samples, taps = wave.shape[0], kernel.shape[0]
    size = _fft_size(samples, taps)
    hop = size - taps + 1
    count = -(-samples // hop)
    behind = taps - 1 - ahead
    padded = jnp.pad(wave, (behind, ahead))
    blocks = frames(padded, width=size, hop=hop, count=count)
    product = jnp.fft.rfft(blocks) * jnp.fft.rfft(kernel, n=size)[None]
    return jnp.fft.irfft(product, n=size)[:, taps - 1 :].reshape(-1)[:samples]


@functools.cache
def _fft_size(samples: int, taps: int) -> int:
    """The power of two that is cheapest: long blocks waste less on the overlap, short ones stay in the cache."""

    def cost(size):
        blocks = max(1, -(-samples // (size - taps + 1)))
        return (blocks + 1) * size * math.log2(size) * (1.0 + size / CACHED)

    sizes = [LEAST_FFT * 2**k for k in range(24)]
    return min((size for size in sizes if size >= taps), key=cost)
