"""Overlapping frames of a wave, by reshaping and shifted slices: no gather, no convolution."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

Array = jax.Array
# More frames than this are worked on in parts: the memory of a long clip stays small.
MOST_FRAMES = 4096


def frames(wave: Array, *, width: int, hop: int, count: int) -> Array:
    """`count` frames of `width` samples, one every `hop` samples, from the start of the wave.

    Args:
      wave: `[T]`. Where the last frames reach beyond it they hold zeros.
      width: samples in a frame.
      hop: samples from one frame to the next.
      count: how many frames.

    Returns:
      `[count, width]`.
    """
    rows = by_hop(wave, width=width, hop=hop, count=count)
    parts = [rows[i : i + count, : min(hop, width - i * hop)] for i in range(-(-width // hop))]
    return jnp.concatenate(parts, axis=1)


def by_hop(wave: Array, *, width: int, hop: int, count: int) -> Array:
    """All samples that `count` frames of `width` read, in rows of `hop`: frame `i` begins with row `i`."""
    rows = -(-width // hop) + max(count - 1, 0)
    used = wave[: rows * hop]
    return jnp.pad(used, (0, rows * hop - used.shape[0])).reshape(rows, hop)


def in_parts(function: Callable[[Array, int], Array], wave: Array, *, width: int, hop: int, count: int) -> Array:
    """`function(part, n)` of equal parts of a wave that hold `n` frames, one after the other: memory stays bounded.

    Args:
      function: of a part `[samples]` and the number of its frames, to `[n, K]`.
      wave: `[T]`; zeros follow it.
      width: samples in a frame.
      hop: samples from one frame to the next.
      count: how many frames.

    Returns:
      `[count, K]`.
    """
    parts = max(-(-count // MOST_FRAMES), 1)
    if parts == 1:
        return function(wave, count)
    each = -(-count // parts)
    span = (each - 1) * hop + width
    wave = jnp.pad(wave, (0, max((parts - 1) * each * hop + span - wave.shape[0], 0)))
    part = lambda start: function(jax.lax.dynamic_slice(wave, (start,), (span,)), each)  # noqa: E731
    rows = jax.lax.map(part, jnp.arange(parts, dtype=jnp.int32) * (each * hop))
    return rows.reshape(parts * each, -1)[:count]


def overlap_add(parts: Array, *, hop: int) -> Array:
    """The sum of frames laid `hop` samples apart: the transpose of `frames`.

    Args:
      parts: `[count, width]`.
      hop: samples from one frame to the next.

    Returns:
      `[(count - 1) * hop + width]`, or `[0]` where there is no frame.
    """
    count, width = parts.shape
    if count == 0:
        return jnp.zeros((0,), parts.dtype)
    across = -(-width // hop)
    padded = jnp.pad(parts, ((0, 0), (0, across * hop - width))).reshape(count, across, hop)
    total = sum(jnp.pad(padded[:, i], ((i, across - 1 - i), (0, 0))) for i in range(across))
    return total.reshape(-1)[: (count - 1) * hop + width]
