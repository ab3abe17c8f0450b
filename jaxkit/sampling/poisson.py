"""Poisson counts of small mean, exactly, from words."""

import jax.numpy as jnp

from jaxkit.sampling.anchor import Array
from jaxkit.sampling.counter import uniform_fine

LARGEST_MEAN = 8.0
# P(count > 40) is 1e-16 at the largest mean: below what sixty-four random bits can show.
LARGEST_COUNT = 40


def poisson(mean: Array, high: Array, low: Array) -> Array:
    """Poisson counts int32 by inversion, monotone in the mean for given words.

    A count is the number of k with U < P(count >= k). These probabilities are summed from the far tail, so nothing
    cancels, and U comes from two words: P(count >= 1) is right to 1e-6 of itself for means down to 1e-12 and less.

    Args:
      mean: float32 in [0, 8]; split a larger one, the sum of Poisson counts is Poisson.
      high, low: uint32 words of the same shape.
    """
    terms, term = [], jnp.ones_like(mean)
    for k in range(1, LARGEST_COUNT + 1):
        term = term * mean * jnp.float32(1 / k)
        terms.append(term)
    # U < exp(-mean) * tail, with the factor on the side where it is formed once.
    threshold = uniform_fine(high, low) * jnp.exp(mean)
    tail, count = jnp.zeros_like(mean), jnp.zeros(mean.shape, jnp.int32)
    for term in reversed(terms):
        tail = tail + term
        count = count + (threshold < tail).astype(jnp.int32)
    return count
