"""Convolution of a wave with a long kernel, by FFT in overlapping blocks."""

import functools
import math

import jax
import jax.numpy as jnp

Array = jax.Array
ROWS = tuple(8 * k for k in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512))
CACHED = 2**15


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
    rows, hop, size = _layout(samples, taps)
    padded = jnp.pad(wave, (taps - 1 - ahead, rows * hop + size - taps + 1 + ahead - samples))
    starts = hop * jnp.arange(rows - 1, dtype=jnp.int32)
    blocks = jax.vmap(lambda start: jax.lax.dynamic_slice(padded, (start,), (size,)))(starts)
    # The kernel is one more row, and its square is thrown away: CPUs transform eight or sixteen rows at once.
    spectra = jnp.fft.rfft(jnp.concatenate([blocks, jnp.pad(kernel, (0, size - taps))[None]]))
    product = jnp.fft.irfft(spectra * spectra[-1:], n=size)
    return product[:-1, taps - 1 : taps - 1 + hop].reshape(-1)[:samples]


@functools.cache
def _layout(samples: int, taps: int) -> tuple[int, int, int]:
    """Rows, the step between them, and their size: few long rows waste less on the overlap, short ones are faster."""
    from scipy.fft import next_fast_len

    def layout(rows: int) -> tuple[int, int, int]:
        hop = max(1, -(-samples // (rows - 1)))
        return rows, hop, next_fast_len(hop + taps - 1, real=True)

    def cost(layout: tuple[int, int, int]) -> float:
        rows, _, size = layout
        return rows * size * math.log2(size + 1) * (1.0 + size / CACHED)

    return min((layout(rows) for rows in ROWS), key=cost)
