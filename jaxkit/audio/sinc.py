"""Impulses between samples."""

import math

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array
WINDOWS = jax.lax.ScatterDimensionNumbers(
    update_window_dims=(1,), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,)
)


def add_impulses(wave: Array, places: Array, amplitude: Array, *, taps: int) -> Array:
    """Adds impulses at any places, band-limited: each is a sinc under a Hann window of `taps` samples.

    Args:
      wave: `[taps + T + taps]` float32, with `taps` samples of room at either end.
      places: `[K]` float32, in samples from the first of the `T`. Those outside of [-1, T] are left out.
      amplitude: `[K]` float32.
      taps: even, static.

    Returns:
      The wave with the impulses.
    """
    half, samples = taps // 2, wave.shape[0] - 2 * taps
    known = (places >= -1.0) & (places <= samples)
    places, amplitude = jnp.where(known, places, 0.0), jnp.where(known, amplitude, 0.0)
    whole = jnp.floor(places)
    first = whole.astype(jnp.int32) + (taps - half + 1)
    updates = fractional(places - whole, taps=taps) * amplitude[:, None]
    mode = jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS
    return jax.lax.scatter_add(wave, first[:, None], updates, WINDOWS, mode=mode)


def fractional(fraction: Array, *, taps: int) -> Array:
    """A sinc under a Hann window `[K, taps]`, at the samples `1 - taps / 2` to `taps / 2`, around `fraction` `[K]`.

    One sine for all taps: that of `pi * (step - fraction)` only changes its sign from one to the next, and the cosine
    of the window is a sum of two products.
    """
    half = taps // 2
    steps = np.arange(1 - half, half + 1)
    signs, angles = np.where(steps % 2, 1.0, -1.0) / math.pi, math.pi * steps / half
    constants = (steps, signs, 0.5 * np.cos(angles), 0.5 * np.sin(angles))
    step, sign, cosine, sine = (jnp.asarray(value, jnp.float32)[None, :] for value in constants)
    part = fraction[:, None]
    apart = step - part
    here = jnp.abs(apart) < 1e-6
    # Near one the sine of the rest is exact, that of the fraction is not.
    sine_of_all = jnp.sin(math.pi * jnp.minimum(part, 1.0 - part))
    sinc = jnp.where(here, 1.0, sign * sine_of_all / jnp.where(here, 1.0, apart))
    turn = part * (math.pi / half)
    return sinc * (0.5 + cosine * jnp.cos(turn) + sine * jnp.sin(turn))
