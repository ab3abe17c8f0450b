"""Programs over rows: all of them, in order, with bits that do not depend on their number."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.sampling.batches import LARGE, SMALL, by_batches


@jax.jit
def _program(a, b):
    return {"wave": jnp.sin(a) * jnp.log1p(b), "sum": a + b}


@pytest.mark.parametrize("count", [0, 1, SMALL, SMALL + 3, LARGE, 2 * LARGE + SMALL + 5])
def test_rows_have_the_same_bits_alone_and_together(count, rng):
    a, b = (rng.uniform(0, 9, 2 * LARGE + 2 * SMALL).astype(np.float32) for _ in range(2))
    whole = jax.tree.map(np.asarray, _program(a, b))
    found = by_batches(_program, a[:count], b[:count])
    for name, leaf in found.items():
        np.testing.assert_array_equal(leaf, whole[name][:count])


def test_two_shapes_are_compiled_at_most(rng):
    traced = []

    @jax.jit
    def program(a):
        traced.append(a.shape)
        return a + 1

    for count in (1, 7, SMALL + 1, LARGE, LARGE + 9, 3 * LARGE):
        by_batches(program, np.ones(count, np.float32))
    assert sorted(traced) == [(SMALL,), (LARGE,)]
