"""Shifts against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.shift import shift

RATE, SIZE = 10, 12
LENGTHS = np.array([12, 12, 7, 7, 7, 1, 0])
STEPS = np.array([3, -5, 2, -2, 30, 1, 4])


def _waves(rng):
    wave = rng.normal(0, 1, (len(LENGTHS), SIZE)).astype(np.float32)
    return wave, Clip(jnp.asarray(wave), jnp.asarray(LENGTHS, jnp.int32), rate=RATE)


def _moved(wave, steps, wrap):
    if wrap or not len(wave):
        return np.roll(wave, steps)
    padded = np.concatenate([np.zeros(40), wave, np.zeros(40)])
    return padded[40 - steps : 40 - steps + len(wave)]


@pytest.mark.parametrize("wrap", [False, True])
def test_the_sound_moves_within_its_valid_samples(wrap, rng):
    wave, clips = _waves(rng)
    out = jax.jit(jax.vmap(shift(wrap=wrap).apply))(jnp.asarray(STEPS / RATE, jnp.float32), clips)
    np.testing.assert_array_equal(out.length, LENGTHS)
    for own, given, size, steps in zip(np.asarray(out.wave), wave, LENGTHS, STEPS, strict=True):
        expected = np.append(_moved(given[:size], steps, wrap), np.zeros(SIZE - size))
        np.testing.assert_array_equal(own, expected.astype(np.float32))


def test_fractions_are_of_the_true_length():
    wave = jnp.arange(1.0, 13.0)
    moved = shift(fraction=(0.5, 0.5)).apply(jnp.float32(0.5), Clip(wave, jnp.int32(4))).wave
    np.testing.assert_array_equal(moved, [0, 0, 1, 2] + [0] * 8)


def test_draws_have_the_given_range():
    op = shift(seconds=(1.0, 2.0))
    drawn = [float(op.draw(key, None)) for key in jax.random.split(jax.random.key(0), 32)]
    assert 1 <= min(drawn) < 1.3 and 1.7 < max(drawn) <= 2


def test_wrong_recipes_are_refused():
    with pytest.raises(ValueError, match="seconds or fraction, got both"):
        shift(seconds=(0, 1), fraction=(0, 1))
    with pytest.raises(ValueError, match="fraction"):
        shift(fraction=(1, 0))
    with pytest.raises(ValueError, match="wrap"):
        shift(wrap="yes")
