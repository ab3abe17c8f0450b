"""What became of a network that was quantized: where it lost accuracy, and what would win it back."""

import dataclasses
import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxkit.compress import weak_spots
from jaxkit.compress.calibrate import Batches
from jaxkit.compress.comparison import Moments, cosine, decibels
from jaxkit.compress.count import Cost, count, total
from jaxkit.compress.graph import Graph
from jaxkit.compress.measure import Gains, Walk, gains, walk
from jaxkit.compress.quantized import WITH_WEIGHTS, Layer, Quantized
from jaxkit.compress.report_text import table

SCHEMA = 1


@dataclasses.dataclass(frozen=True)
class LayerReport:
    """What a node came to. None stands for what cannot be said: the ratio where there is no noise, for instance.

    Attributes:
      name: of the node, and of the value that it makes.
      op: what it does; "input" for what comes in.
      integers: it computes with integers alone.
      sqnr: signal-to-quantization-noise ratio of its value in the quantized network, in dB.
      cosine: of the angle between its value and that in float.
      alone: ratio of the network's output if this layer alone is quantized, in dB.
      gain: what the network's output would win if this layer alone were in float, in dB.
      outside: share of its values, in float, beyond the range of its integers.
      saturating: channels whose products can overflow on CPUs without VNNI.
      dead: channels without a weight that is not zero.
      raised: channels whose scale was raised to make room for the bias.
      macs: multiply-adds for one example.
      parameters: how many.
      bytes_float, bytes_integers: that they take.
    """

    name: str
    op: str
    integers: bool
    sqnr: float | None
    cosine: float | None
    alone: float | None
    gain: float | None
    outside: float
    saturating: int
    dead: int
    raised: int
    macs: int
    parameters: int
    bytes_float: int
    bytes_integers: int


@dataclasses.dataclass(frozen=True)
class Report:
    """What a quantized network came to.

    Attributes:
      target: the runtime whose arithmetic was simulated.
      examples: how many the figures are from.
      probed: how many of them `alone` and `gain` are from.
      sqnr: of the output, in dB; None if it is exact.
      top1: share of the examples whose largest output is where it is in float.
      accuracy_float, accuracy_integers: shares of the labels that the largest output names; None without labels.
      macs: multiply-adds for one example.
      parameters: how many.
      bytes_float, bytes_integers: that they take.
      islands: names of the nodes that run in float, and why.
      layers: in the order of the network, the input first.
    """

    target: str
    examples: int
    probed: int
    sqnr: float | None
    top1: float
    accuracy_float: float | None
    accuracy_integers: float | None
    macs: int
    parameters: int
    bytes_float: int
    bytes_integers: int
    islands: dict[str, str]
    layers: tuple[LayerReport, ...]

    def text(self, *, rows: int | None = None, width: int = 120) -> str:
        """A table, the worst layers first, and sentences that say what to do.

        Args:
          rows: how many layers are shown. None: all.
          width: in characters.
        """
        return table(self, rows, width)

    def json(self) -> str:
        """All of it, as JSON without NaN or infinity; the key `schema` has the number of its form."""
        return json.dumps({"schema": SCHEMA, **dataclasses.asdict(self)}, indent=1, allow_nan=False)

    def plot(self, path: str | os.PathLike) -> None:
        """Draws the ratios and gains of all layers into a `.png`, the first layer on top."""
        from jaxkit.compress.report_plot import draw

        draw(self, path)


def report(
    q: Quantized,
    batches: Batches,
    labels: Any = None,
    *,
    reference: Graph | None = None,
    probed: int = 8,
    listen: Callable[[str, int, int], None] | None = None,
) -> Report:
    """Compares a quantized network, simulated as its target runs it, with the network in float.

    How sensitive the output is to a layer is measured in two ways: this layer alone is quantized (`alone`), or it alone
    is in float (`gain`, what `exclude` would win). One compiled program does it for all layers, on a few examples.

    Args:
      q: with integers.
      batches: float32 `[n, *q.graph.shape]` arrays, or a function of no arguments that gives an iterator of them. They
        are gone through once; they should not be those of the calibration.
      labels: integers `[examples]`, the right place of the largest output.
      reference: the network in float as it was traced. None: `q.graph`, whose biases make up for the rounding of
        weights and so are no longer those of the trained network.
      probed: how many examples the sensitivity is measured on: each costs two runs of the network for each layer.
      listen: told `(stage, done, total)`.

    Raises:
      ValueError: if there is no example, or one has another shape or dtype; if there are labels for other than all
        examples, or `probed` is below 1; if the reference has other nodes.
    """
    graph, reference = _graphs(q, reference, probed)
    tell = listen or (lambda stage, done, total: None)
    seen = walk(graph, reference, q, batches, kept=probed, tell=tell)
    right = _checked(labels, seen)
    probes = gains(graph, q, seen, tell=tell)
    places = [values.reshape(len(values), -1).argmax(axis=1) for values in (seen.wanted, seen.found)]
    shares = [None if right is None else float(np.mean(place == right)) for place in places]
    costs, held = count(q.graph), count(q)
    whole = seen.moments[graph.output]
    names = (graph.input, *(node.name for node in graph.nodes))
    rows = [_row(q, name, seen, probes, (costs, held)) for name in names]
    return Report(
        *(q.target.name, seen.examples, len(seen.first), decibels(float(whole.signal), float(whole.noise))),
        *(float(np.mean(places[0] == places[1])), *shares),
        *(*total(costs), total(held).bytes),
        {name: weak_spots.why_float(q, name) for name in weak_spots.float_islands(q)},
        tuple(rows),
    )


def _row(q: Quantized, name: str, seen: Walk, probes: Gains, costs: tuple[dict[str, Cost], ...]) -> LayerReport:
    node = next((node for node in q.graph.nodes if node.name == name), None)
    moments, layer = seen.moments[name], q.layers.get(name)
    plain, held = (cost.get(name, Cost(0, 0, 0)) for cost in costs)
    return LayerReport(
        *(name, node.op if node else "input", q.in_integers(node) if node else name in q.values),
        *_ratios(moments),
        *(probes.alone.get(name), probes.gain.get(name), float(moments.outside) / seen.sizes[name]),
        *(weak_spots.saturating(q, name), *_odd(layer)),
        *(*plain, held.bytes),
    )


def _ratios(moments: Moments) -> tuple[float | None, float | None]:
    return decibels(float(moments.signal), float(moments.noise)), cosine(moments)


def _odd(layer: Layer | None) -> tuple[int, int]:
    return (0, 0) if layer is None else (weak_spots.dead(layer), weak_spots.raised(layer))


def _graphs(q: Quantized, reference: Graph | None, probed: int) -> tuple[Graph, Graph]:
    """The graph that values are compared with, and the one for the output: the same, unless weights were equalised."""
    if type(probed) is not int or probed < 1:
        raise ValueError(f"probed must be at least 1, got {probed!r}")
    if reference is None or reference is q.graph:
        return q.graph, q.graph
    ours, theirs = ([(node.name, node.op, node.inputs) for node in graph.nodes] for graph in (q.graph, reference))
    if ours != theirs:
        raise ValueError("the reference has other nodes than the quantized network; give the graph it was made of")
    kernels = zip(q.graph.nodes, reference.nodes, strict=True)
    layers = [(a.weights["kernel"], b.weights["kernel"]) for a, b in kernels if a.op in WITH_WEIGHTS]
    same = all(np.array_equal(a, b) for a, b in layers)
    return (reference if same else q.graph), reference


def _checked(labels: Any, seen: Walk) -> np.ndarray | None:
    if labels is None:
        return None
    labels = np.asarray(labels)
    if labels.shape != (seen.examples,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"labels must be one integer for each of {seen.examples} examples, got {labels.dtype} {list(labels.shape)}"
        )
    return labels
