"""Gain in decibels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.gain import gain


@pytest.mark.parametrize("gain_db, factor", [(0.0, 1.0), (20.0, 10.0), (-40.0, 0.01), (6.0, 1.9952623)])
def test_decibels_are_of_amplitudes(gain_db, factor, rng):
    wave = rng.normal(0, 0.3, 50).astype(np.float32)
    louder = gain().apply(jnp.float32(gain_db), Clip(jnp.asarray(wave)))
    np.testing.assert_allclose(louder.wave, wave * factor, rtol=1e-6)


def test_nothing_is_clipped_and_the_padding_is_silent(rng):
    wave = np.append(rng.normal(0, 1, 30), [np.nan] * 5).astype(np.float32)
    louder = gain().apply(jnp.float32(40.0), Clip(jnp.asarray(wave), jnp.int32(30)))
    np.testing.assert_allclose(louder.wave[:30], 100 * wave[:30], rtol=1e-6)
    np.testing.assert_array_equal(louder.wave[30:], 0)


def test_half_precision_stays_half():
    quiet = Clip(jnp.full((4,), 0.5, jnp.float16))
    louder = gain().apply(jnp.float32(6.0205999), quiet)
    assert louder.wave.dtype == jnp.float16
    np.testing.assert_allclose(louder.wave, 1.0, rtol=1e-3)


def test_draws_fill_the_range():
    op = gain(gain_db=(-3.0, 9.0))
    drawn = np.asarray(jax.vmap(lambda key: op.draw(key, None))(jax.random.split(jax.random.key(0), 64)))
    assert -3 <= drawn.min() < -2 and 8 < drawn.max() <= 9


@pytest.mark.parametrize("wrong", [(3.0, -3.0), 6.0, (0.0, np.inf)])
def test_wrong_ranges_are_refused(wrong):
    with pytest.raises(ValueError, match="gain_db"):
        gain(gain_db=wrong)
