"""The low pass of every change of rate: a windowed sinc, known by its response."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array
REACH = 90  # samples of the slower rate on either side of the middle of the impulse response
ATTENUATION = 120.0
KAISER_BETA = 0.1102 * (ATTENUATION - 8.7)
TRANSITION = (ATTENUATION - 7.95) / (2.285 * np.pi * 2 * REACH)
FINENESS = 4
KNOTS = 2048


def pass_band(frequency: Array) -> Array:
    """The response at frequencies in units of the slower rate's Nyquist frequency: 1 below 0.913, 0 above 1.

    A sinc under Kaiser's window of 180 samples and 120 dB (J. Kaiser, "Nonrecursive digital filter design using the
    I0-sinh window function", 1974); between its knots the response is interpolated, with an error below 1e-6.
    """
    places = (frequency - (1.0 - TRANSITION)) * ((KNOTS - 1) / TRANSITION)
    left = jnp.clip(jnp.floor(places), 0, KNOTS - 2)
    share = jnp.clip(places - left, 0.0, 1.0)
    table, index = jnp.asarray(_transition()), left.astype(jnp.int32)
    return table[index] * (1.0 - share) + table[index + 1] * share


@functools.cache
def _transition() -> np.ndarray:
    """`[KNOTS]` responses from the end of the pass band, 1, to the beginning of the stop band, 0."""
    time = np.arange(-REACH * FINENESS, REACH * FINENESS + 1) / FINENESS
    middle = 1.0 - TRANSITION / 2
    impulse = np.sinc(middle * time) * np.kaiser(len(time), KAISER_BETA)
    frequency = np.linspace(1.0 - TRANSITION, 1.0, KNOTS)
    response = np.cos(np.pi * frequency[:, None] * time) @ impulse / impulse.sum()
    response[[0, -1]] = 1.0, 0.0
    return response.astype(np.float32)
