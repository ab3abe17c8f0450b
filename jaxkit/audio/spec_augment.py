"""Masks of time and frequency on features."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxkit.audio.frame_mask import frame_length, masked
from jaxkit.audio.statistics import total
from jaxkit.op import Op
from jaxkit.ranges import number, one_of_names, probability
from jaxkit.records import Features

Array = jax.Array


class Masking(NamedTuple):
    """Numbers of a policy: `F`, `mF`, `T`, `mT` and `p` of the paper."""

    freq_width: int
    freq_masks: int
    time_width: int
    time_masks: int
    time_fraction: float


# Park et al. 2019, table 1.
POLICIES = {
    "LB": Masking(27, 1, 100, 1, 1.0),
    "LD": Masking(27, 2, 100, 2, 1.0),
    "SM": Masking(15, 2, 70, 2, 0.2),
    "SS": Masking(27, 2, 70, 2, 0.2),
}


class Masks(NamedTuple):
    """What `spec_augment` draws.

    Attributes:
      freq_start: `[mF]` int32, the first masked bin.
      freq_width: `[mF]` int32, how many bins.
      time_start: `[mT]` in [0, 1), where the mask lies among its possible places.
      time_width: `[mT]` in [0, 1), its width among the possible widths 0 to `min(T, p * frames)`.
    """

    freq_start: Array
    freq_width: Array
    time_start: Array
    time_width: Array


def spec_augment(
    *,
    policy: str = "LD",
    freq_width: int | None = None,
    freq_masks: int | None = None,
    time_width: int | None = None,
    time_masks: int | None = None,
    time_fraction: float | None = None,
    fill: str | float = "mean",
) -> Op:
    """Masks bands of bins and spans of frames: SpecAugment (Park et al. 2019) without the warp, which is `time_warp`.

    Widths are uniform over the integers 0 to the largest, both included, and then places are uniform over those where
    the mask lies within the bins, or within the valid frames. Masks may overlap.

    Args:
      policy: `LB`, `LD` (LibriSpeech basic and double), `SM` or `SS` (Switchboard mild and strong).
      freq_width: the largest number of bins of a mask; None: that of the policy. So for the rest:
      freq_masks: how many bands are masked.
      time_width: the largest number of frames of a mask.
      time_masks: how many spans are masked.
      time_fraction: the largest part of the valid frames that one mask may take.
      fill: `mean` of the valid values of the example, `zero`, or a number.

    Raises:
      ValueError: when built, if there is no such policy or fill, or a number is out of its range.
    """
    own = Masking(freq_width, freq_masks, time_width, time_masks, time_fraction)
    preset = POLICIES[one_of_names("policy", policy, tuple(POLICIES))]
    masking = Masking(*(theirs if mine is None else mine for mine, theirs in zip(own, preset, strict=True)))
    _check(masking)
    fill = one_of_names("fill", fill, ("mean", "zero")) if isinstance(fill, str) else number("fill", fill)

    def draw(key: Array, spec: Features) -> Masks:
        return _draw(key, spec.values.shape[1], masking)

    def apply(masks: Masks, features: Features) -> Features:
        features = masked(features)
        return features.replace(values=_masked(features, masks, masking, fill))

    return Op(draw, apply, name="spec_augment", neutral=True)


def _check(masking: Masking) -> None:
    for name, value in zip(masking._fields[:-1], masking[:-1], strict=True):
        if type(value) is not int or value < 0:
            raise ValueError(f"{name} must be an int of at least 0, got {value!r}")
    probability("time_fraction", masking.time_fraction)


def _draw(key: Array, bins: int, masking: Masking) -> Masks:
    keys = jax.random.split(key, 4)
    widest = min(masking.freq_width, bins)
    width = jax.random.randint(keys[0], (masking.freq_masks,), 0, widest + 1)
    start = jax.random.randint(keys[1], (masking.freq_masks,), 0, bins - width + 1)
    times = (jax.random.uniform(key, (masking.time_masks,)) for key in keys[2:])
    return Masks(start, width, *times)


def _masked(features: Features, masks: Masks, masking: Masking, fill: str | float) -> Array:
    values, length = features.values, frame_length(features)
    widest = jnp.minimum(masking.time_width, jnp.floor(masking.time_fraction * jnp.asarray(length, jnp.float32)))
    width = _choice(masks.time_width, widest.astype(jnp.int32))
    start = _choice(masks.time_start, length - width)
    frames, bins = values.shape
    hidden = _covered(frames, start, width)[:, None] | _covered(bins, masks.freq_start, masks.freq_width)[None]
    inside = jnp.arange(frames)[:, None] < length
    return jnp.where(hidden & inside, _filling(values, length, fill), values)


def _choice(share: Array, largest: Any) -> Array:
    """An integer of 0 to `largest`, from a number in [0, 1)."""
    chosen = jnp.floor(share * (jnp.asarray(largest, jnp.float32) + 1.0)).astype(jnp.int32)
    return jnp.minimum(chosen, largest)


def _covered(size: int, start: Array, width: Array) -> Array:
    """`[size]` bool: which places lie in any of the spans."""
    places = jnp.arange(size, dtype=jnp.int32)[:, None]
    return ((places >= start[None]) & (places < (start + width)[None])).any(axis=1)


def _filling(values: Array, length: Array | int, fill: str | float) -> Array:
    if fill != "mean":
        return jnp.asarray(0.0 if fill == "zero" else fill, values.dtype)
    count = jnp.maximum(length, 1).astype(values.dtype) * max(values.shape[1], 1)
    return total(values.sum(axis=1)) / count
