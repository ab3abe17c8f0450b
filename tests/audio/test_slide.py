"""Reading from another place against a loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.audio.slide import slid

STARTS = np.array([0, 1, 8, 9, 10, -1, -8, -9, 30, -30, 2**31 - 1, -(2**31)])


def _loop(wave, start):
    return [wave[i + start] if 0 <= i + int(start) < len(wave) else 0 for i in range(len(wave))]


def test_slid_is_the_loop(rng):
    waves = rng.normal(0, 1, (len(STARTS), 9)).astype(np.float32)
    ours = jax.jit(jax.vmap(slid))(jnp.asarray(waves), jnp.asarray(STARTS, jnp.int32))
    np.testing.assert_array_equal(ours, [_loop(w, s) for w, s in zip(waves, STARTS, strict=True)])


@pytest.mark.parametrize("size", [0, 1])
def test_hardly_any_wave(size):
    np.testing.assert_array_equal(slid(jnp.ones((size,)), 0), np.ones(size))
    np.testing.assert_array_equal(slid(jnp.ones((size,)), 1), np.zeros(size))


def test_derivatives_go_back_to_where_the_samples_came_from():
    back = jax.grad(lambda wave: jnp.vdot(slid(wave, -2), jnp.arange(5.0)))(jnp.ones(5))
    np.testing.assert_array_equal(back, [2, 3, 4, 0, 0])
