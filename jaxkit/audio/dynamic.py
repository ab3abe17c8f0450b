"""Change of the sample rate by a ratio of each example's own."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp

from jaxkit.audio.extent import check, length, silenced
from jaxkit.audio.lengths import MODES
from jaxkit.audio.positions import multiples, uniform
from jaxkit.audio.read import OVERSAMPLING, read_at
from jaxkit.boundary import in_turn
from jaxkit.ranges import interval, one_of_names
from jaxkit.records import Clip

Array = jax.Array
LEAST = 1 / 64
MOST = 64.0
NEAR = 3


def resample_by(
    clip: Clip,
    ratio: Array,
    *,
    ratios: tuple[float, float] = (0.5, 2.0),
    capacity: int | None = None,
    mode: str = "round",
) -> Clip:
    """The wave read at every multiple of `ratio` samples, with the sample rate said to be the same.

    A ratio of 1.1 makes the sound 1.1 times as fast, and as much higher. The ratio is a value: one program serves all.
    Positions are exact multiples of the float32 ratio, in integers. Quality as `resample`'s, aliases and images 100 dB
    down.

    Args:
      clip: one clip.
      ratio: float32 scalar within `ratios`.
      ratios: (low, high) of all ratios to come. The filter is made for the highest.
      capacity: the size of the result. None: what the lowest ratio needs.
      mode: how the length, that of the clip divided by the ratio, is rounded: `ceil`, `round` (half up) or `floor`.

    Returns:
      A clip `[capacity]` whose length is at most that.

    Raises:
      ValueError: if the wave is not `[T]`, the ratios are no (low, high) within [1/64, 64], or the mode is unknown.
      TypeError: if the wave is not floating.
    """
    check(clip)
    low, high = interval("ratios", ratios, least=LEAST, most=MOST)
    mode = one_of_names("mode", mode, MODES)
    size = math.ceil(clip.wave.shape[0] / Fraction(low)) if capacity is None else capacity
    ratio = jnp.asarray(ratio, jnp.float32)
    new = jnp.minimum(length_by(length(clip), ratio, mode=mode), size)

    def change(clip: Clip, ratio: Array, new: Array) -> Array:
        places = lambda ratio: uniform(size, ratio * OVERSAMPLING)  # noqa: E731
        made = read_at(silenced(clip).wave.astype(jnp.float32), ratio, places, most=Fraction(high))
        return jnp.where(jnp.arange(size) < new, made, 0.0).astype(clip.wave.dtype)

    return clip.replace(wave=in_turn(change, clip, ratio, new), length=new)


def length_by(samples: int | Array, ratio: Array, *, mode: str = "round") -> Array:
    """`samples / ratio`, rounded, exactly for the float32 ratio that is given.

    Args:
      samples: int32 scalar.
      ratio: float32 scalar in [1/64, 64].
      mode: `ceil`, `round` (half up) or `floor`.

    Returns:
      int32 scalar.
    """
    samples, ratio = jnp.asarray(samples, jnp.uint32), jax.lax.stop_gradient(ratio)
    about = (samples.astype(jnp.float32) / ratio).astype(jnp.uint32)
    # The division is off by a rounding, which grows with the length; what is left over is small, and exact.
    over = multiples(about, ratio)[0].astype(jnp.int32) - samples.astype(jnp.int32)
    about = about.astype(jnp.int32) - jnp.round(over.astype(jnp.float32) / ratio).astype(jnp.int32)
    near = jnp.maximum(about + jnp.arange(-NEAR, NEAR + 1, dtype=jnp.int32), 0).astype(jnp.uint32)
    return jnp.max(jnp.where(_fits(near, samples, ratio, mode), near, 0)).astype(jnp.int32)


def _fits(count: Array, samples: Array, ratio: Array, mode: str) -> Array:
    """Whether the rounded length is at least `count`."""
    if mode == "ceil":
        return (count == 0) | (multiples(jnp.maximum(count, 1) - 1, ratio)[0] < samples)
    if mode == "floor":
        return _at_most(multiples(count, ratio), samples)
    return (count == 0) | _at_most(multiples(2 * jnp.maximum(count, 1) - 1, ratio), 2 * samples)


def _at_most(value: tuple[Array, Array], limit: Array) -> Array:
    return (value[0] < limit) | ((value[0] == limit) & (value[1] == 0))
