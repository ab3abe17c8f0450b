"""Levels against float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.audio.level import decibels, energy, norm


@pytest.mark.parametrize("scale", [1e-15, 1e-3, 1e4, 1e13])
def test_norms_of_faint_and_loud_waves(rng, scale):
    wave = (rng.normal(1, 1, 5000) * scale).astype(np.float32)
    expected = np.sqrt((wave.astype(np.float64) ** 2).sum())
    np.testing.assert_allclose(norm(jnp.asarray(wave)), expected, rtol=1e-6)


def test_the_error_of_an_energy_does_not_grow(rng):
    wave = rng.uniform(0.5, 1, 480000).astype(np.float32)
    np.testing.assert_allclose(energy(jnp.asarray(wave)), (wave.astype(np.float64) ** 2).sum(), rtol=1e-6)


def test_derivatives_are_those_of_a_root_and_zero_in_silence(rng):
    wave = rng.normal(0, 1, 50).astype(np.float32)
    slope = jax.grad(norm)(jnp.asarray(wave))
    np.testing.assert_allclose(slope, wave / np.sqrt((wave.astype(np.float64) ** 2).sum()), atol=1e-6)
    np.testing.assert_array_equal(jax.grad(norm)(jnp.zeros(50)), 0)
    assert norm(jnp.zeros(0)) == 0 and norm(jnp.zeros(3)) == 0 and norm(jnp.full(3, 1e-30)) == 0


def test_decibels_of_amplitude():
    np.testing.assert_allclose(decibels(jnp.float32(-6.0206)), 0.5, rtol=1e-5)
