"""Where the samples of another rate lie among those of a wave, exactly, in 32-bit integers."""

from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array
HALF = 16
LOW = (1 << HALF) - 1


class Positions(NamedTuple):
    """Places between samples: `whole + part` for each.

    Attributes:
      whole: `[N]` int32.
      part: `[N]` float32 in [0, 1], rounded once from an exact fraction.
    """

    whole: Array
    part: Array


def multiples(index: Array, step: Array) -> tuple[Array, Array]:
    """`index * step` as a whole number and a fraction in units of 2**-32, exact as long as the whole fits 32 bits.

    Args:
      index: uint32.
      step: float32 scalar, at least 2**-8 if not 0: then it is itself a multiple of 2**-32.

    Returns:
      Two uint32 arrays.
    """
    whole = jnp.floor(step)
    part = ((step - whole) * 2.0**32).astype(jnp.uint32)
    return index * whole.astype(jnp.uint32) + _high_product(index, part), index * part


def uniform(count: int, step: Array) -> Positions:
    """The positions `n * step` for n below `count`; their derivative with respect to the step is n.

    Args:
      count: how many.
      step: float32 scalar of at least 2**-8.
    """
    index = jnp.arange(count, dtype=jnp.uint32)
    step = jnp.asarray(step, jnp.float32)
    fixed = jax.lax.stop_gradient(step)
    whole, part = multiples(index, fixed)
    exact = (part >> 8).astype(jnp.float32) * 2.0**-24
    return Positions(whole.astype(jnp.int32), exact + index.astype(jnp.float32) * (step - fixed))


def rational(count: int, step: Fraction) -> Positions:
    """The positions `n * step` for n below `count`; they repeat, but for their whole parts, and so are never large."""
    index = np.arange(step.denominator, dtype=np.int64) * step.numerator
    whole = (index // step.denominator).astype(np.int32)
    part = (index % step.denominator / step.denominator).astype(np.float32)
    rounds = -(-count // step.denominator)
    start = jnp.arange(rounds, dtype=jnp.int32) * step.numerator
    every = (start[:, None] + whole[None]).reshape(-1)[:count]
    return Positions(every, jnp.broadcast_to(part, (rounds, step.denominator)).reshape(-1)[:count])


def _high_product(a: Array, b: Array) -> Array:
    """The upper 32 bits of the 64-bit product of uint32 values."""
    a_low, a_high, b_low, b_high = a & LOW, a >> HALF, b & LOW, b >> HALF
    middle = a_high * b_low + ((a_low * b_low) >> HALF)
    other = a_low * b_high + (middle & LOW)
    return a_high * b_high + (middle >> HALF) + (other >> HALF)
