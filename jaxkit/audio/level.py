"""Levels of padded waves, as exact as float32 allows and without overflow, underflow or bad derivatives."""

import jax
import jax.numpy as jnp

from jaxkit.audio.statistics import total

Array = jax.Array
FAINTEST = 1e-36


def energy(wave: Array) -> Array:
    """The sum of squares of `[T]`."""
    return total(jnp.square(wave))


def norm(wave: Array) -> Array:
    """The root of the sum of squares of `[T]`; zero, with zero derivatives, where all is silent.

    Good for magnitudes up to 1e15. What is fainter than 1e-19 counts as silence, as its squares do in float32.
    """
    squares = energy(wave)
    return root(jnp.where(squares < FAINTEST, 0.0, squares))


def root(values: Array) -> Array:
    """The square root; zero, with a derivative of zero, of what is not positive."""
    positive = values > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, values, 1.0)), 0.0)


def decibels(value: Array) -> Array:
    """The amplitude factor of a level in dB: `10 ** (value / 20)`; exactly one for 0 dB."""
    return jnp.power(jnp.float32(10.0), value / jnp.float32(20.0))
