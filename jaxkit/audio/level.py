"""Levels of padded waves, as exact as float32 allows and without overflow, underflow or bad derivatives."""

import jax
import jax.numpy as jnp

Array = jax.Array
ROW = 1024
FAINTEST = 1e-36


def energy(wave: Array) -> Array:
    """The sum of squares of `[T]`, by rows, so that its error does not grow with the length of the wave."""
    rows = -(-wave.shape[0] // ROW)
    padded = jnp.pad(wave, (0, rows * ROW - wave.shape[0])).reshape(rows, ROW)
    return jnp.sum(jnp.sum(jnp.square(padded), axis=1))


def norm(wave: Array) -> Array:
    """The root of the sum of squares of `[T]`; zero, with zero derivatives, where all is silent.

    Good for magnitudes up to 1e15. What is fainter than 1e-19 counts as silence, as its squares do in float32.
    """
    total = energy(wave)
    silent = total < FAINTEST
    return jnp.where(silent, 0.0, jnp.sqrt(jnp.where(silent, 1.0, total)))


def decibels(value: Array) -> Array:
    """The amplitude factor of a level in dB: `10 ** (value / 20)`."""
    return jnp.power(jnp.float32(10.0), value / jnp.float32(20.0))
