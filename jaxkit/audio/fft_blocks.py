"""Change of the sample rate by a ratio of small integers: blocks of the wave, each refitted in the frequency domain.

A block is transformed at the rate it has, weighted, cut or extended to the bins of the other rate, and transformed back
(overlap-add: M. Portnoff; multirate form as in J. Smith, "Spectral Audio Signal Processing").
"""

from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array
# Of what was measured the fastest on CPUs: small enough for the first cache, large enough for little overlap.
LEAST_BINS = 1280
LEAST_HOPS = 8


class Blocks(NamedTuple):
    """How a wave is cut. Sizes come in pairs: samples before and after the change of rate.

    Attributes:
      size: of a transform.
      hop: from one block to the next: the samples of the wave within one.
      margin: room for the response on either side of them.
    """

    size: tuple[int, int]
    hop: tuple[int, int]
    margin: tuple[int, int]


def blocks(ratio: Fraction, reach: Fraction) -> Blocks:
    """Blocks for a change of rate by `ratio`, new to old, whose response reaches `reach` old samples to either side."""
    # Late, because SciPy takes longer to import than all of jaxkit.
    from scipy.fft import next_fast_len

    steps = -(-reach // ratio.denominator)
    least = max(-(-LEAST_BINS // min(ratio.numerator, ratio.denominator)), LEAST_HOPS * steps)
    count = 2 * next_fast_len(-(-least // 2), real=True)
    pair = lambda steps: (ratio.denominator * steps, ratio.numerator * steps)  # noqa: E731
    return Blocks(pair(count), pair(count - 2 * steps), pair(steps))


def frequencies(blocks: Blocks) -> np.ndarray:
    """`[bins]` float32: the frequencies that are kept, in units of the slower rate's Nyquist frequency."""
    bins = min(blocks.size) // 2
    return np.arange(bins, dtype=np.float32) / np.float32(bins)


def refitted(wave: Array, weights: Array, blocks: Blocks) -> Array:
    """The wave at the new rate, from `blocks.margin[1]` samples before its beginning to as many after its end, or more.

    It comes in rows, since a loop over the flat wave would divide every index to find its block: whoever flattens it
    should have it in memory first.

    Args:
      wave: `[T]` float32.
      weights: `[bins]` float32, what `frequencies` are multiplied by.
      blocks: how to cut.

    Returns:
      `[rows, blocks.hop[1]]` float32.
    """
    pairs = -(-(wave.shape[0] + 2 * blocks.margin[0]) // (2 * blocks.hop[0]))
    whole = jnp.pad(wave, (0, 2 * pairs * blocks.hop[0] - wave.shape[0])).reshape(2, pairs, blocks.hop[0])
    # Two blocks, half the wave apart, are the real and the imaginary part of one transform: the weights are even.
    spectrum = jnp.fft.fft(jnp.pad(jax.lax.complex(whole[0], whole[1]), ((0, 0), (blocks.margin[0],) * 2)))
    parts = jnp.fft.ifft(_other_bins(spectrum, weights * (blocks.size[1] / blocks.size[0]), blocks.size[1]))
    return _overlapped(jnp.stack([parts.real, parts.imag]).reshape(2 * pairs, blocks.size[1]), blocks)


def _other_bins(spectrum: Array, weights: Array, size: int) -> Array:
    """`[rows, size]`: the kept frequencies, weighted, with nothing between the positive and the negative ones."""
    bins = weights.shape[0]
    positive = _scaled(spectrum[:, :bins], weights)
    negative = _scaled(spectrum[:, spectrum.shape[1] - bins + 1 :], weights[:0:-1])
    return jnp.concatenate([positive, jnp.zeros((len(spectrum), size - 2 * bins + 1), spectrum.dtype), negative], 1)


def _scaled(spectrum: Array, weights: Array) -> Array:
    return jax.lax.complex(spectrum.real * weights[None], spectrum.imag * weights[None])


def _overlapped(parts: Array, blocks: Blocks) -> Array:
    hop, overlap = blocks.hop[1], 2 * blocks.margin[1]
    after = jnp.pad(parts[:-1, hop:], ((1, 0), (0, hop - overlap)))
    return parts[:, :hop] + after
