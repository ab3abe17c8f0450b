"""Changes of speed, each example its own."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.dynamic import LEAST, MOST, resample_by
from jaxkit.audio.extent import silenced
from jaxkit.boundary import in_turn
from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval
from jaxkit.records import Clip

Array = jax.Array


def speed(*, factor: tuple[float, float] = (0.9, 1.1), choices: tuple[float, ...] | None = None) -> Op:
    """Plays a clip faster or slower, with pitch and formants moved by the same factor, as Kaldi's speed perturbation.

    The rate that the clip says stays. One program serves all factors; a factor of exactly 1 returns the wave bit for
    bit. The length becomes `length / factor`, rounded half up; the result has room for the slowest: `ceil(T / low)`.

    Args:
      factor: (low, high), drawn from uniformly; 1.1 is faster.
      choices: factors to draw from with equal chances instead, such as Kaldi's (0.9, 1.0, 1.1).

    Raises:
      ValueError: when built, if `factor` is not (low, high) within [1/64, 64], or a choice is not within.
    """
    ends = interval("factor", factor, least=LEAST, most=MOST)
    if choices is not None:
        ends = interval("choices", (min(choices), max(choices)) if choices else None, least=LEAST, most=MOST)

    def draw(key: Array, spec: Clip) -> Array:
        del spec
        return draw_uniform(key, ends) if choices is None else jax.random.choice(key, np.float32(choices))

    def played(drawn: Array, clip: Clip) -> Clip:
        made = resample_by(clip, drawn, ratios=ends, capacity=capacity(clip.wave.shape[0], ends[0]))
        return kept_at_one(drawn, clip, made)

    return Op(draw, lambda drawn, clip: in_turn(played, drawn, clip), name="speed")


def capacity(samples: int, low: float) -> int:
    """`ceil(samples / low)` for the decimal number that `low` is written as."""
    return math.ceil(samples / Fraction(repr(low)))


def kept_at_one(factor: Array, clip: Clip, made: Clip) -> Clip:
    """`made`, or where the factor of the speed is exactly 1 the clip itself, padded or cut to the size of `made`."""
    wave = silenced(clip).wave[: made.wave.shape[0]]
    same = jnp.pad(wave, (0, made.wave.shape[0] - wave.shape[0]))
    return made.replace(wave=jnp.where(factor == 1.0, same, made.wave))
