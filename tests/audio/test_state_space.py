"""Systems in blocks against the recursion, sample by sample."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.audio.state_space import BLOCK, GROUP, StateSpace, series, through

THROUGH = jax.jit(through)


def _system(rng, states):
    """A random stable system in float64."""
    values, _ = np.linalg.qr(rng.normal(size=(states, states)))
    matrix = values * rng.uniform(0.9, 0.999, states)
    return StateSpace(matrix - np.eye(states), rng.normal(size=states), rng.normal(size=states), np.float64(0.7))


def _loop(system, wave):
    state, out = np.zeros(len(system.enter)), []
    for value in wave:
        out.append(system.leave @ state + system.direct * value)
        state = state + system.change @ state + system.enter * value
    return np.array(out)


def _traced(system):
    return StateSpace(*(jnp.asarray(part, jnp.float32) for part in system))


@pytest.mark.parametrize("states", [1, 6, 16])
@pytest.mark.parametrize("size", [1, BLOCK, BLOCK * GROUP + 77])
def test_blocks_are_the_recursion(states, size, rng):
    system, wave = _system(rng, states), rng.normal(size=size).astype(np.float32)
    expected = _loop(system, wave)
    for ours in (THROUGH(_traced(system), wave), jax.jit(functools.partial(through, system))(wave)):
        np.testing.assert_allclose(ours, expected, atol=3e-6 * np.abs(expected).max())


def test_series_is_one_after_the_other(rng):
    parts = [_system(rng, states) for states in (2, 1, 3)]
    wave = rng.normal(size=300)
    expected = functools.reduce(lambda out, part: _loop(part, out), parts, wave)
    np.testing.assert_allclose(_loop(functools.reduce(series, parts), wave), expected, rtol=1e-9, atol=1e-9)


def test_no_wave_stays_none(rng):
    assert THROUGH(_traced(_system(rng, 2)), jnp.zeros((0,))).shape == (0,)
