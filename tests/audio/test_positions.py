"""Positions against Python's integers."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.audio.positions import multiples, rational, uniform

STEPS = [1.0, 0.9, 1.1, 2.0, 1 / 3, 0.015625, 63.999, 1.0000001, 0.99999994]
LARGE = [0, 1, 2**16, 2**24 + 1, 2**26 - 1, 2**26 - 12345]


@pytest.mark.parametrize("step", STEPS)
def test_multiples_are_exact_also_at_the_end_of_an_hour(step):
    step = np.float32(step)
    whole, part = jax.jit(multiples)(jnp.asarray(LARGE, jnp.uint32), step)
    for index, (w, p) in zip(LARGE, zip(np.asarray(whole), np.asarray(part), strict=True), strict=True):
        assert Fraction(int(w)) + Fraction(int(p), 2**32) == index * Fraction(float(step)) % 2**32


@pytest.mark.parametrize("step", [0.9, 1.1, 1.0, 0.0371])
def test_uniform_positions_are_whole_and_part(step, rng):
    step = np.float32(step)
    got = jax.jit(uniform, static_argnums=0)(5000, step)
    truth = np.arange(5000) * np.float64(step)
    np.testing.assert_array_equal(got.whole, np.floor(truth))
    np.testing.assert_allclose(got.part, truth - np.floor(truth), atol=2**-23)


def test_positions_move_with_the_step():
    weights = jnp.arange(50, dtype=jnp.float32)
    slope = jax.grad(lambda step: jnp.vdot(uniform(50, step).part, weights))(1.1)
    np.testing.assert_allclose(slope, np.vdot(np.arange(50), np.arange(50)))


@pytest.mark.parametrize("step", [Fraction(16001, 16000), Fraction(2 * 7, 3), Fraction(1, 5), Fraction(4)])
@pytest.mark.parametrize("count", [0, 1, 17])
def test_rational_positions_are_fractions(step, count):
    got = rational(count, step)
    assert list(map(int, got.whole)) == [n * step // 1 for n in range(count)]
    np.testing.assert_allclose(got.part, np.array([float(n * step % 1) for n in range(count)]), atol=2**-24)


def test_rational_positions_of_an_hour_are_exact_where_they_begin_again():
    # The start of each round is its number times an integer: nothing is rounded on the way.
    step, rounds = Fraction(16001, 16000), 2**26 // 16000
    truth = rounds * 16000 * step
    assert truth.denominator == 1 and rounds * step.numerator == truth < 2**31
