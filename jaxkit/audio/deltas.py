"""How features change: their derivatives along time, as three libraries take them."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.frame_mask import frame_length, masked
from jaxkit.ranges import one_of_names
from jaxkit.records import Features

Array = jax.Array
KINDS = ("kaldi", "torchaudio", "librosa")


def deltas(features: Features, *, kind: str = "kaldi", order: int = 2, window: int = 2) -> Features:
    """Features, then their first to `order`-th derivatives, all within the valid frames.

    Args:
      features: one utterance.
      kind: `kaldi` (`add-deltas`): regression over the frames around each, the last frame repeated at an end, and
        higher orders by one longer filter. `torchaudio` (`compute_deltas` of `compute_deltas`): the same filter again
        and again, results repeated at the ends. `librosa` (`feature.delta(order=..., mode="interp")`): derivatives of
        polynomials of that order, at an end those of the nearest full window; clips shorter than that repeat a frame.
      order: how often is derived.
      window: frames to each side; `win_length` and `width` of the others are `2 * window + 1`.

    Returns:
      `[frames, bins * (order + 1)]`.

    Raises:
      ValueError: if there is no such kind, or `order` or `window` is not a positive int; or, for `librosa`, the window
        is too short for the order.
    """
    kind = one_of_names("kind", kind, KINDS)
    for name, value in (("order", order), ("window", window)):
        if type(value) is not int or value < 1:
            raise ValueError(f"{name} must be an int of at least 1, got {value!r}")
    if kind == "librosa" and order > 2 * window:
        raise ValueError(f"a polynomial of order {order} needs order <= 2 * window, got a window of {window}")
    length = frame_length(features)
    values = masked(features).values
    derived = {"kaldi": _at_once, "torchaudio": _again, "librosa": _polynomial}[kind](values, length, order, window)
    return masked(features.replace(values=jnp.concatenate([values, *derived], axis=1)))


def _at_once(values: Array, length: Array | int, order: int, window: int) -> list[Array]:
    slope = _slope(window)
    filters = [functools.reduce(np.convolve, [slope] * times) for times in range(1, order + 1)]
    return [_correlated(values, length, weights) for weights in filters]


def _again(values: Array, length: Array | int, order: int, window: int) -> list[Array]:
    derived = [values]
    for _ in range(order):
        derived.append(_correlated(derived[-1], length, _slope(window)))
    return derived[1:]


def _polynomial(values: Array, length: Array | int, order: int, window: int) -> list[Array]:
    # A polynomial's derivative of its own order is constant, so at an end it is that of the nearest full window.
    full = jnp.clip(jnp.arange(values.shape[0]), window, jnp.maximum(length - 1 - window, window))
    full = jnp.minimum(full, max(values.shape[0] - 1, 0))
    return [_correlated(values, length, _fitted(n, window))[full] for n in range(1, order + 1)]


def _slope(window: int) -> np.ndarray:
    steps = np.arange(-window, window + 1)
    return steps / (steps * steps).sum()


def _fitted(order: int, window: int) -> np.ndarray:
    """The filter that gives the `order`-th derivative of the fitted polynomial of that order."""
    powers = np.vander(np.arange(-window, window + 1), order + 1, increasing=True)
    return math.factorial(order) * np.linalg.pinv(powers)[order]


def _correlated(values: Array, length: Array | int, weights: np.ndarray) -> Array:
    """Sums of frames around each, `[frames, bins]`; before the first and after the last valid frame it is repeated."""
    frames, reach = values.shape[0], len(weights) // 2
    if frames == 0:
        return values
    last = jax.lax.dynamic_slice_in_dim(values, jnp.maximum(length - 1, 0), 1)
    held = jnp.where(jnp.arange(frames)[:, None] < length, values, last)
    held = jnp.pad(held, ((reach, reach), (0, 0)), mode="edge")
    return sum(float(weight) * held[i : i + frames] for i, weight in enumerate(weights) if weight)
