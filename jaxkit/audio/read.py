"""Reading a wave between its samples."""

import functools
from collections.abc import Callable
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.band_limit import REACH, pass_band
from jaxkit.audio.fft_blocks import blocks, frequencies, refitted
from jaxkit.audio.positions import Positions
from jaxkit.boundary import apart

Array = jax.Array
OVERSAMPLING = 2
TAPS = 6
SHAPE = np.pi * TAPS * (1.0 - 0.5 / OVERSAMPLING)
DEGREE = 7


def read_at(wave: Array, ratio: Array, places: Callable[[Array], Positions], *, most: Fraction) -> Array:
    """The band-limited wave at places in units of half a sample.

    The wave is limited to the band of the slower of the two rates, divided by the transform of a short kernel, and
    brought to twice its rate, all in the frequency domain; each value is then a sum of six samples weighted by that
    kernel (J. Fessler and B. Sutton, "Nonuniform fast Fourier transforms using min-max interpolation", 2003; the kernel
    is Kaiser and Bessel's). Aliases and images of the kernel are 115 dB down.

    Args:
      wave: `[T]` float32.
      ratio: how many old samples there are for each new one: the band is narrower by that much if it is above 1.
      places: of the ratio: `[N]` positions, 0 at the first sample. Those beyond the end read silence.
      most: the largest ratio that the reach of the response allows for.

    Returns:
      `[N]` float32.
    """
    plan = blocks(Fraction(OVERSAMPLING), REACH * max(most, Fraction(1)))
    frequency = jnp.asarray(frequencies(plan))
    weights = pass_band(frequency * jnp.maximum(ratio, 1.0)) * _undo_kernel(plan.size[1])
    twice = refitted(wave, weights, plan)

    # Positions are cheap enough to be made where they are used; the wave is not.
    def read(rows: Array, ratio: Array) -> Array:
        whole, part = places(ratio)
        first = jnp.minimum(whole + plan.margin[1], rows.size - TAPS // 2 - 1) - (TAPS // 2 - 1)
        return _weighted(rows.reshape(-1), first, part)

    return apart(read, twice, ratio)


def _weighted(wave: Array, first: Array, part: Array) -> Array:
    even, odd = _kernel()
    offset = part - 0.5
    square = offset * offset
    total = jnp.zeros_like(part)
    for tap in range(TAPS // 2):
        straight, turned = _polynomial(even[tap], square), _polynomial(odd[tap], square) * offset
        near = wave.at[first + tap].get(mode="promise_in_bounds")
        far = wave.at[first + (TAPS - 1 - tap)].get(mode="promise_in_bounds")
        total = total + near * (straight + turned) + far * (straight - turned)
    return total


def _polynomial(coefficients: np.ndarray, value: Array) -> Array:
    """The sum of `coefficients[k] * value**k`."""
    total = jnp.full_like(value, float(coefficients[-1]))
    for coefficient in coefficients[-2::-1]:
        total = total * value + float(coefficient)
    return total


@functools.cache
def _kernel() -> tuple[np.ndarray, np.ndarray]:
    """Coefficients `[TAPS / 2, DEGREE / 2]` of each tap's even and odd part about the middle between samples."""
    offset = np.cos(np.pi * (np.arange(200) + 0.5) / 200) / 2
    taps = np.arange(TAPS // 2) - (TAPS // 2 - 1)
    values = [_bessel(tap - (offset + 0.5)) for tap in taps]
    fits = np.array([np.polynomial.Polynomial.fit(offset, value, DEGREE).convert().coef for value in values])
    return fits[:, 0::2], fits[:, 1::2]


def _bessel(time: np.ndarray) -> np.ndarray:
    """The kernel at distances in samples of the wave that is read."""
    return np.i0(SHAPE * np.sqrt(np.maximum(0.0, 1.0 - (2.0 * time / TAPS) ** 2))) / np.i0(SHAPE)


def _undo_kernel(size: int) -> np.ndarray:
    """`[size / 4]` float32: one over the kernel's transform, at the frequencies that the wave has."""
    angle = np.pi * TAPS * np.arange(size // (2 * OVERSAMPLING)) / size
    root = np.sqrt(SHAPE**2 - angle**2)
    return (root * np.i0(SHAPE) / (TAPS * np.sinh(root))).astype(np.float32)
