"""What the values of a network are like on real inputs: one walk over them, in memory that their number does not raise.

Compiled, unlike most of this room: operation by operation a network takes tens of times as long.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.compress.graph import Graph
from jaxkit.compress.histogram import Histogram, empty, observe
from jaxkit.compress.moments import Moments, patch_moments
from jaxkit.compress.quantized import WITH_WEIGHTS

Array = jax.Array
Batches = Iterable[Any] | Callable[[], Iterable[Any]]


class Observed(NamedTuple):
    """What the values of a network were like.

    Attributes:
      ends: for the name of every value, its least and its largest, and 0 between them.
      means: for the names of values that layers take, their mean over the examples, float64 of the value's shape
        without N.
      histograms: for the name of every value; None where they were not asked for.
      examples: how many there were.
      moments: for the names of layers with patches not too wide; None where they were not asked for. See `Moments`.
    """

    ends: Mapping[str, tuple[float, float]]
    means: Mapping[str, np.ndarray]
    histograms: Mapping[str, Histogram] | None
    examples: int
    moments: Mapping[str, Moments] | None = None


def observed(graph: Graph, batches: Batches, *, bins: int | None = None, moments: bool = True) -> Observed:
    """Runs a network in float over some inputs.

    Args:
      graph: the network.
      batches: float32 `[n, *graph.shape]` arrays with any n, or a function that gives an iterator of them. A batch
        smaller than one before it runs in the program of that one.
      bins: of the histograms. None: no histograms.
      moments: also of what the layers multiply, for weights that make up for each other's errors; see `Moments`.

    Returns:
      An `Observed`. Memory is that of the values and patches of one batch, one mean of every layer's input, the bins
      and the moments.

    Raises:
      ValueError: if there is no example, or one has another shape or dtype, or a value is not finite: with its name.
    """
    look = jax.jit(lambda x, shares: _looked(graph, x, shares, bins is not None or moments))
    ends: dict[str, tuple[float, float]] = {}
    histograms: dict[str, Histogram] = {}
    sums, examples = None, 0
    for number, (x, count) in enumerate(checked(graph, batches)):
        found, means = look(x, _shares(len(x), count))
        values = {name: np.asarray(value) for name, value in found.items()}
        for name, value in values.items():
            ends[name] = _wider(ends.get(name, (0.0, 0.0)), value, f"{name} in batch {number}")
            if bins is not None:
                histograms[name] = observe(histograms.get(name) or empty(bins), value[:count])
        part = {name: count * np.asarray(mean, np.float64) for name, mean in means.items()}
        part = part, _of_patches(graph, values, count) if moments else None
        sums = part if sums is None else jax.tree.map(np.add, sums, part)
        examples += count
    if not examples:
        raise ValueError("there was no batch to calibrate on; give a list, or a function that gives an iterator")
    means, patches = jax.tree.map(lambda value: value / examples, sums)
    return Observed(ends, means, histograms or None, examples, patches)


def _looked(graph: Graph, x: Array, shares: Array, whole: bool) -> tuple[dict, dict]:
    """All values, or no more of them than their extremes, and means of the layers' inputs."""
    values = graph.values(x)
    taken = {node.inputs[0] for node in graph.nodes if node.op in WITH_WEIGHTS}
    means = {name: jnp.tensordot(shares, values[name], axes=1) for name in taken}
    extremes = {name: jnp.stack([value.min(), value.max()]) for name, value in values.items()}
    return values if whole else extremes, means


def _of_patches(graph: Graph, values: dict[str, np.ndarray], count: int) -> dict[str, Moments]:
    return patch_moments(graph, {name: value[:count] for name, value in values.items()})


def checked(graph: Graph, batches: Batches) -> Iterator[tuple[np.ndarray, int]]:
    """Batches as large as the largest so far, filled with their last example, and how many examples are their own.

    Raises:
      ValueError: if a batch is empty, or of another shape or dtype than the network takes.
    """
    largest = 0
    for number, batch in enumerate(batches() if callable(batches) else batches):
        x = np.asarray(batch)
        if x.ndim != len(graph.shape) + 1 or x.shape[1:] != tuple(graph.shape) or x.dtype != np.float32:
            wanted = f"float32 [n, {', '.join(map(str, graph.shape))}]"
            raise ValueError(f"batch {number} is {x.dtype} {list(x.shape)}; the network takes {wanted}")
        if not len(x):
            raise ValueError(f"batch {number} is empty; leave it out")
        largest = max(largest, len(x))
        yield np.concatenate([x, np.repeat(x[-1:], largest - len(x), axis=0)]), len(x)


def _shares(size: int, count: int) -> np.ndarray:
    return np.where(np.arange(size) < count, 1 / count, 0).astype(np.float32)


def _wider(ends: tuple[float, float], value: np.ndarray, where: str) -> tuple[float, float]:
    low, high = float(value.min()), float(value.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"{where} is not finite; look at that input, or at the weights before that value")
    return min(ends[0], low), max(ends[1], high)
