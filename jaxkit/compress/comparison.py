"""How far the values of a quantized network are from those in float, in sums that add up over examples."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.compress.graph import Graph
from jaxkit.compress.quantized import Affine, Quantized
from jaxkit.compress.simulate import simulate_values

Array = jax.Array


class Moments(NamedTuple):
    """Sums over the places of a value, for every example `[N]`, or over all examples as float64 scalars.

    Attributes:
      signal: of the squares of the value in float.
      noise: of the squares of the difference.
      product: of the products of the two.
      energy: of the squares of the value by integers.
      outside: how many places are beyond the range of the integers by more than half a step.
    """

    signal: Array
    noise: Array
    product: Array
    energy: Array
    outside: Array


class Seen(NamedTuple):
    """What one batch came to.

    Attributes:
      moments: for the name of every value.
      wanted: the output in float.
      found: the output by integers.
    """

    moments: Mapping[str, Moments]
    wanted: Array
    found: Array


def compared(graph: Graph, reference: Graph, q: Quantized) -> Callable[[Array], Seen]:
    """A function of inputs `[N, *shape]` that runs the network in float and as its target does.

    Args:
      graph: in float, to which the values of the nodes are compared.
      reference: in float, to which the output is compared.
      q: with integers, and with the names of `graph`.
    """
    integers = simulate_values(q)

    def run(x: Array) -> Seen:
        plain, rounded = graph.values(x), integers(x)
        wanted = plain[graph.output] if reference is graph else reference(x)
        moments = {name: _moments(plain[name], rounded[name], q, name) for name in plain}
        moments[graph.output] = _moments(wanted, rounded[graph.output], q, graph.output)
        return Seen(moments, wanted, rounded[graph.output])

    return run


def _moments(plain: Array, rounded: Array, q: Quantized, name: str) -> Moments:
    axes = tuple(range(1, plain.ndim))
    sums = (plain * plain, jnp.square(plain - rounded), plain * rounded, rounded * rounded)
    low, high = (-math.inf, math.inf) if name not in q.values else ends(q.values[name], q.target.activations)
    outside = jnp.where((plain < low) | (plain > high), jnp.float32(1), jnp.float32(0))
    return Moments(*(jnp.sum(each, axis=axes) for each in (*sums, outside)))


def ends(at: Affine, activations: str) -> tuple[float, float]:
    """The real values that are half a step beyond what the integers stand for: there rounding becomes saturation."""
    info = np.iinfo(activations)
    return tuple(float((end - at.zero_point) * at.scale) for end in (info.min - 0.5, info.max + 0.5))


def decibels(signal: float, noise: float) -> float | None:
    """`10 log10(signal / noise)`; None if there is no noise, or no signal."""
    return 10 * math.log10(signal / noise) if signal > 0 and noise > 0 else None


def cosine(moments: Moments) -> float | None:
    """Of the angle between the two values; None if one of them is zero."""
    length = math.sqrt(float(moments.signal) * float(moments.energy))
    return float(moments.product) / length if length > 0 else None


def noise_ratio(wanted: np.ndarray, found: np.ndarray) -> float | None:
    """The signal-to-quantization-noise ratio of outputs, in dB; see `decibels`."""
    wanted = np.asarray(wanted, np.float64)
    return decibels(float(np.sum(wanted**2)), float(np.sum((wanted - found) ** 2)))
