"""Reflecting walls against the formulas, and against integrals over many directions."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.audio.decay import SOUND_SPEED, wall_reflection

ROOM = (5.0, 4.0, 3.0)
VOLUME, SURFACE = 60.0, 94.0


@pytest.mark.parametrize("t60", [0.2, 0.5, 1.5])
def test_sabine_and_eyring_come_back(t60):
    constant = 24 * math.log(10) / SOUND_SPEED
    sabine, eyring = (float(wall_reflection(jnp.asarray(ROOM), t60, formula=name)) for name in ("sabine", "eyring"))
    np.testing.assert_allclose(constant * VOLUME / (SURFACE * (1 - sabine**2)), t60, rtol=1e-4)
    np.testing.assert_allclose(-constant * VOLUME / (SURFACE * math.log(eyring**2)), t60, rtol=1e-4)


def test_sabine_asks_for_no_less_than_nothing():
    slope = jax.grad(lambda t60: wall_reflection(jnp.asarray(ROOM), t60, formula="sabine"))
    assert wall_reflection(jnp.asarray(ROOM), 0.01, formula="sabine") == 0 and slope(0.01) == 0


@pytest.mark.parametrize("room", [ROOM, (3.0, 3.0, 3.0), (12.0, 8.0, 2.5)])
def test_the_mean_over_directions_decays_as_asked(rng, room):
    reflection = float(wall_reflection(jnp.asarray(room), 0.4))
    directions = np.abs(rng.normal(size=(20000, 3)))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    rate = -2 * math.log(reflection) * SOUND_SPEED * (directions / np.array(room)).sum(axis=1)
    time = np.linspace(0, 0.4, 801)
    level = 10 * np.log10((np.exp(-rate * time[:, None]) / rate).mean(axis=1))
    crossing = [np.interp(down, level[0] - level, time) for down in (5, 25)]
    np.testing.assert_allclose(3 * (crossing[1] - crossing[0]), 0.4, rtol=0.02)


def test_other_formulas_are_refused():
    with pytest.raises(ValueError, match="norris"):
        wall_reflection(jnp.asarray(ROOM), 0.4, formula="norris")
