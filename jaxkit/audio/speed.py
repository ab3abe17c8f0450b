"""Changes of speed, each example its own."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.dynamic import LEAST, MOST, resample_by
from jaxkit.audio.extent import silenced
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

    def apply(drawn: Array, clip: Clip) -> Clip:
        return _played(clip, drawn, ends)

    return Op(draw, apply, name="speed")


def _played(clip: Clip, factor: Array, ends: tuple[float, float]) -> Clip:
    clip = silenced(clip)
    samples = clip.wave.shape[0]
    capacity = -int(-samples // Fraction(repr(ends[0])))
    made = resample_by(clip, factor, ratios=ends, capacity=capacity)
    if not ends[0] <= 1.0 <= ends[1]:
        return made
    same = jnp.pad(clip.wave, (0, capacity - samples))
    return made.replace(wave=jnp.where(factor == 1.0, same, made.wave))
