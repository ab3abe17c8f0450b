"""The figures of a report: a network run over examples in float and in integers, and again layer by layer."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import numpy as np

from jaxkit.compress.calibrate import Batches, checked
from jaxkit.compress.comparison import Moments, compared, noise_ratio
from jaxkit.compress.graph import Graph
from jaxkit.compress.quantized import Quantized
from jaxkit.compress.sensitivity import switchable, switched

Array = np.ndarray
Tell = Callable[[str, int, int], None]


class Walk(NamedTuple):
    """What a walk over examples came to.

    Attributes:
      moments: for the name of every value, float64 sums over all examples.
      sizes: for the name of every value, its places in all examples.
      wanted, found: the outputs in float and by integers, `[examples, ...]`.
      first: the first few inputs.
      examples: how many there were.
    """

    moments: Mapping[str, Moments]
    sizes: Mapping[str, int]
    wanted: Array
    found: Array
    first: Array
    examples: int


class Gains(NamedTuple):
    """For the names of layers, dB of the output: with this layer alone quantized, and won with it alone in float."""

    alone: Mapping[str, float | None]
    gain: Mapping[str, float | None]


def walk(graph: Graph, reference: Graph, q: Quantized, batches: Batches, *, kept: int, tell: Tell) -> Walk:
    """Runs a network over examples; see `compared`.

    Raises:
      ValueError: if there is no example, or one has another shape or dtype than the network takes.
    """
    look = jax.jit(compared(graph, reference, q))
    sums: dict[str, Array] = {}
    wanted, found, first, examples = [], [], [], 0
    for x, own in checked(q.graph, batches):
        tell("comparing with float", examples, 0)
        seen = look(x)
        for name, moments in seen.moments.items():
            sums[name] = sums.get(name, 0.0) + np.asarray(moments, np.float64)[:, :own].sum(axis=1)
        wanted.append(np.asarray(seen.wanted)[:own])
        found.append(np.asarray(seen.found)[:own])
        first.append(x[: min(own, max(kept - examples, 0))])
        examples += own
    if not examples:
        raise ValueError("there was no batch to report on; give a list, or a function that gives an iterator")
    joined = (np.concatenate(each) for each in (wanted, found, first))
    spec = jax.eval_shape(graph.values, jax.ShapeDtypeStruct((examples, *graph.shape), np.float32))
    moments = {name: Moments(*sums[name]) for name in spec}
    return Walk(moments, {name: math.prod(value.shape) for name, value in spec.items()}, *joined, examples)


def gains(graph: Graph, q: Quantized, seen: Walk, *, tell: Tell) -> Gains:
    """Quantizes one layer at a time, then all but one, on the first inputs of a walk."""
    names, x = switchable(q), seen.first
    if not names:
        return Gains({}, {})
    run, single = jax.jit(switched(graph, q)), np.eye(len(names), dtype=bool)
    plain, wanted = np.asarray(run(x, np.zeros(len(names), bool))), seen.wanted[: len(x)]
    whole = noise_ratio(wanted, seen.found[: len(x)])
    alone: dict[str, float | None] = {}
    gain: dict[str, float | None] = {}
    for done, (name, one) in enumerate(zip(names, single, strict=True)):
        tell("one layer at a time", done, len(names))
        alone[name] = noise_ratio(plain, np.asarray(run(x, one)))
        without = noise_ratio(wanted, np.asarray(run(x, ~one)))
        gain[name] = None if whole is None or without is None else without - whole
    return Gains(alone, gain)
