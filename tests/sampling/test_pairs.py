"""The stages of the compiled join: sums, the expansion of pairs, passes over heavy bodies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.sampling import pairs
from jaxkit.sampling.pairs import BLOCK, PAIRS, running_sum


@pytest.mark.parametrize("length, most", [(64, 2), (BLOCK, 2), (BLOCK, 2**14)])
def test_running_sums_are_exact(length, most, rng):
    values = rng.integers(0, most, length, dtype=np.int32)
    np.testing.assert_array_equal(jax.jit(running_sum)(values), np.cumsum(values))
    values[:64] = 2**18 - 1
    np.testing.assert_array_equal(jax.jit(running_sum)(values), np.cumsum(values))


@pytest.mark.parametrize("shares", ["mixed", "mostly none", "one heavy"])
def test_pairs_belong_to_their_bodies(shares, rng):
    count = {
        "mixed": rng.integers(0, 9, BLOCK),
        "mostly none": rng.integers(0, 9, BLOCK) * (rng.random(BLOCK) < 0.01),
        "one heavy": np.where(np.arange(BLOCK) == 777, PAIRS + 12_345, 0),
    }[shares]
    expected = np.repeat(np.arange(BLOCK), count)
    first = jnp.asarray(np.cumsum(count) - count, jnp.int32)
    expand = jax.jit(pairs._expanded)
    for done in range(0, len(expected), PAIRS):
        found = expand(first, jnp.int32(done))[: len(expected) - done]
        np.testing.assert_array_equal(found, expected[done : done + PAIRS])
