"""Normalising the mean and the variance of features: by the utterance, by a corpus, or in a sliding window."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.frame_mask import frame_length, masked
from jaxkit.audio.statistics import moments
from jaxkit.boundary import in_turn
from jaxkit.ranges import flag
from jaxkit.records import Features

Array = jax.Array
FLOOR = 1e-20
SLIDING_FLOOR = 1e-10


class Statistics(NamedTuple):
    """What is known about the features of a corpus, of which parts can be merged in any order.

    Attributes:
      count: how many frames, a floating scalar.
      mean: `[bins]`.
      squares: `[bins]`, sums of squared deviations from `mean`.
    """

    count: Any
    mean: Any
    squares: Any


def cmvn(
    features: Features, *, variance: bool = True, ddof: int = 0, floor: float = FLOOR, epsilon: float = 0.0
) -> Features:
    """Features whose bins have zero mean and unit variance over the valid frames of the utterance.

    Args:
      features: one utterance.
      variance: whether the variance is normalised too (`apply-cmvn --norm-vars` of Kaldi, whose default is not).
      ddof: what is subtracted from the number of frames when squares are averaged: 0 as in Kaldi, 1 as in
        SeamlessM4T.
      floor: the least variance, Kaldi's by default.
      epsilon: what is added to the variance.

    Raises:
      ValueError: if `variance` is not True or False.
    """
    length = frame_length(features)
    _, deviations, squares = moments(masked(features).values, length)
    if flag("variance", variance):
        count = jnp.maximum(length - ddof, 1).astype(deviations.dtype)
        deviations = deviations * _scale(squares / count + epsilon, floor)[None]
    return features.replace(values=deviations)


def collect_cmvn(features: Features) -> Statistics:
    """The statistics of one utterance, for `merge_cmvn`."""
    length = frame_length(features)
    mean, _, squares = moments(masked(features).values, length)
    return Statistics(jnp.asarray(length, mean.dtype), mean, squares)


def merge_cmvn(*statistics: Statistics) -> Statistics:
    """The statistics of several parts of a corpus together (Chan, Golub and LeVeque 1979).

    NumPy arrays are merged in float64: move the statistics of batches to the host (`jax.device_get`) for a corpus.

    Args:
      statistics: parts; each leaf may have a leading axis, as `jax.vmap(collect_cmvn)` gives.

    Raises:
      ValueError: if there is none.
    """
    if not statistics:
        raise ValueError("merge_cmvn needs at least one part, got none")
    on_host = all(isinstance(leaf, np.ndarray | np.generic) for leaf in jax.tree.leaves(statistics))
    xp, dtype = (np, np.float64) if on_host else (jnp, jnp.float32)
    bins = statistics[0].mean.shape[-1]
    rows = lambda part, width: xp.asarray(part, dtype).reshape(-1, width)  # noqa: E731
    counts = xp.concatenate([rows(part.count, 1) for part in statistics])
    means = xp.concatenate([rows(part.mean, bins) for part in statistics])
    squares = xp.concatenate([rows(part.squares, bins) for part in statistics])
    count = counts.sum()
    mean = (counts * means).sum(0) / xp.maximum(count, 1)
    apart = means - mean[None]
    return Statistics(count, mean, (squares + counts * apart * apart).sum(0))


def apply_cmvn(statistics: Statistics, features: Features, *, variance: bool = True, floor: float = FLOOR) -> Features:
    """Features normalised by the statistics of a corpus.

    Args:
      statistics: of `collect_cmvn` and `merge_cmvn`.
      features: one utterance.
      variance: whether the variance is normalised too.
      floor: the least variance.

    Raises:
      ValueError: if `variance` is not True or False.
    """
    dtype = features.values.dtype
    values = features.values - jnp.asarray(statistics.mean, dtype)[None]
    if flag("variance", variance):
        spread = statistics.squares / statistics.count.clip(1)
        values = values * _scale(jnp.asarray(spread, dtype), floor)[None]
    return masked(features.replace(values=values))


def sliding_cmvn(
    features: Features, *, window: int = 600, min_window: int = 100, center: bool = False, variance: bool = False
) -> Features:
    """Each frame normalised by a window of frames around it, as Kaldi's `apply-cmvn-sliding` with the same defaults.

    Args:
      features: one utterance.
      window: frames in the window; one more where it is not centred, as in Kaldi.
      min_window: the least number of frames at the start, where the window is not centred.
      center: whether the window lies around the frame (at the ends it is moved into the utterance), or before it.
      variance: whether the variance is normalised too. Where the window is one frame, the result is zero then.

    Raises:
      ValueError: if a window is not a positive int, or a flag is not True or False.
    """
    for name, value in (("window", window), ("min_window", min_window)):
        if type(value) is not int or value < 1:
            raise ValueError(f"{name} is a number of frames of at least 1, got {value!r}")
    flag("center", center), flag("variance", variance)
    body = functools.partial(_slid, window=window, least=min_window, center=center, variance=variance)
    return in_turn(body, features)


def _slid(features: Features, *, window: int, least: int, center: bool, variance: bool) -> Features:
    length = frame_length(features)
    first, last = _windows(features.values.shape[0], length, window, least, center)
    # About the mean of the utterance, so that squares do not cancel.
    _, values, _ = moments(masked(features).values, length)
    count = jnp.maximum(last - first, 1).astype(values.dtype)[:, None]
    reach = max(window + 1, least)
    mean = _windowed_sums(values, first, last, reach) / count
    out = values - mean
    if variance:
        spread = jnp.maximum(_windowed_sums(values * values, first, last, reach) / count - mean * mean, SLIDING_FLOOR)
        out = jnp.where(count > 1, out / jnp.sqrt(spread), 0.0)
    return masked(features.replace(values=out))


def _scale(variance: Array, floor: float) -> Array:
    return 1.0 / jnp.sqrt(jnp.maximum(variance, floor))


def _windows(frames: int, length: Array | int, window: int, least: int, center: bool) -> tuple[Array, Array]:
    """The first frame of the window of each frame, and the one after its last."""
    places = jnp.arange(frames)
    first = jnp.maximum(places - (window // 2 if center else window), 0)
    last = first + window if center else jnp.maximum(places + 1, least)
    first = jnp.maximum(first - jnp.maximum(last - length, 0), 0)
    return first, jnp.clip(last, 0, length)


def _windowed_sums(values: Array, first: Array, last: Array, reach: int) -> Array:
    """Sums over windows of at most `reach` frames: two blocks of that size hold each, so errors do not grow with time.

    The end of one block and the start of the next; within one block, the difference of two starts.
    """
    frames, bins = values.shape
    blocks = -(-frames // reach) + 1
    by_block = jnp.pad(values, ((0, blocks * reach - frames), (0, 0))).reshape(blocks, reach, bins)
    running = jax.lax.platform_dependent(by_block, cpu=_sums_before_in_steps, default=_sums_before)
    sums = by_block.sum(axis=1)
    start, end = (running.reshape(-1, bins)[places] for places in (first, last))
    crosses = (first // reach != last // reach)[:, None]
    return end - start + jnp.where(crosses, sums[first // reach], 0.0)


def _sums_before(by_block: Array) -> Array:
    """For each frame `[blocks, reach, bins]`, the sum of what lies before it in its block."""
    return jnp.cumsum(jnp.pad(by_block, ((0, 0), (1, 0), (0, 0)))[:, :-1], axis=1)


def _sums_before_in_steps(by_block: Array) -> Array:
    """What `_sums_before` returns, four times as fast on a CPU."""
    step = lambda sums, frame: (sums + frame, sums)  # noqa: E731
    _, sums = jax.lax.scan(step, jnp.zeros_like(by_block[:, 0]), by_block.transpose(1, 0, 2))
    return sums.transpose(1, 0, 2)
