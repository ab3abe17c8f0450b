"""Impulses between samples against their formula in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.audio.sinc import add_impulses, fractional


@pytest.mark.parametrize("taps", [2, 8, 40])
def test_taps_are_a_windowed_sinc(taps):
    fraction = np.array([0.0, 1e-7, 1e-4, 0.25, 0.5, 0.75, 0.99999, 1.0 - 2.0**-24], np.float32)
    apart = np.arange(1 - taps // 2, taps // 2 + 1) - fraction[:, None].astype(np.float64)
    expected = np.sinc(apart) * 0.5 * (1 + np.cos(2 * np.pi * apart / taps))
    np.testing.assert_allclose(fractional(jnp.asarray(fraction), taps=taps), expected, atol=2e-6)


def test_impulses_add_and_those_outside_are_left_out():
    places = np.array([-300.0, -1.5, -0.5, 0.0, 17.25, 17.75, 29.9, 30.0, 31.5, 1e9], np.float32)
    amplitude = np.arange(1.0, 11.0).astype(np.float32)
    expected = np.zeros(8 + 30 + 8)
    for place, height in zip(places, amplitude, strict=True):
        if -1 <= place <= 30:
            for step in range(int(np.floor(place)) - 3, int(np.floor(place)) + 5):
                apart = step - float(place)
                expected[8 + step] += height * np.sinc(apart) * 0.5 * (1 + np.cos(2 * np.pi * apart / 8))
    add = jax.jit(lambda places, amplitude: add_impulses(jnp.zeros(46), places, amplitude, taps=8))
    np.testing.assert_allclose(add(places, amplitude), expected, atol=1e-5)
    slopes = jax.jit(jax.grad(lambda *a: jnp.sum(jnp.square(add(*a))), argnums=(0, 1)))(places, amplitude)
    assert all(np.isfinite(slope).all() for slope in slopes)
