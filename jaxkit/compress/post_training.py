"""From a trained network in float to one in integers, without training."""

from collections.abc import Collection

import numpy as np

from jaxkit.compress.calibrate import Batches, Observed, observed
from jaxkit.compress.correction import corrected
from jaxkit.compress.equalize import equalized
from jaxkit.compress.graph import Graph, Node
from jaxkit.compress.histogram import empty
from jaxkit.compress.quantized import PASSING, WITH_WEIGHTS, Affine, Quantized
from jaxkit.compress.rounding import WEIGHTS, affine, quantized_layers, with_biases
from jaxkit.compress.search import RANGES, percentile_share, range_of
from jaxkit.compress.target import Target
from jaxkit.ranges import flag, one_of_names

ROUNDING = ("compensated", "nearest")
# TensorFlow Lite's 8-bit specification leaves no choice for these.
FIXED = {"sigmoid": Affine(np.float32(1 / 256), -128), "tanh": Affine(np.float32(1 / 128), 0)}


def post_training(
    graph: Graph,
    batches: Batches | Observed,
    *,
    target: Target,
    ranges: str = "mse",
    percentile: float = 99.99,
    bins: int = 2048,
    equalize: bool = False,
    bias_correction: bool = True,
    weights: str = "channel",
    rounding: str = "compensated",
    exclude: Collection[str] = (),
) -> Quantized:
    """A network in integers, by what its values are like on some real inputs.

    Args:
      graph: a trained network in float.
      batches: float32 `[n, *graph.shape]` arrays, with any n, or a function of no arguments that gives an iterator of
        them. They are gone through once; some dozens of examples do. Or what `observed` made of them, so that several
        settings share one walk.
      target: what will run it.
      ranges: how ranges of values are chosen: "minmax", "percentile", "entropy" or "mse"; see `range_of`. The input
        always keeps all that occurred.
      percentile: for that way.
      bins: of the histograms.
      equalize: bring channels of neighbouring layers to like size first; see `equalized`.
      bias_correction: let biases make up for the rounding of weights; see `corrected`.
      weights: "channel": a scale for each output channel; "tensor": one for all.
      rounding: "compensated": weights are rounded one after the other, and those to come make up for the errors of
        those before, on what layers multiply; see `compensated`. A layer whose outputs take more than `WIDEST` numbers
        has its weights rounded to nearest, since products of so many would need too much memory. "nearest": all layers.
      exclude: names of nodes that stay in float. The result of such a layer is rounded for those that take it, unless
        it is the output; that of any other node stays real, so that what takes it runs in float too.

    Returns:
      A `Quantized`, whose graph has the equalised weights and the corrected biases.

    Raises:
      ValueError: if a setting is not one of these, a name is not in the graph, batches have another shape or dtype than
        the network takes, or a value is not finite; or what was observed is of another graph.
    """
    _check(graph, ranges, percentile, bins, equalize, bias_correction, weights, rounding, exclude)
    graph = equalized(graph) if equalize else graph
    seen = _seen(graph, batches, ranges, bins, equalize, rounding)
    values = value_affines(graph, seen, target=target, ranges=ranges, percentile=percentile, exclude=exclude)
    products = _products(seen, bias_correction, exclude) if rounding == "compensated" else None
    layers = quantized_layers(graph, values, target=target, weights=weights, products=products)
    layers = {name: layer for name, layer in layers.items() if name not in exclude}
    if bias_correction:
        graph = corrected(graph, layers, seen.means)
        layers = with_biases(graph, values, layers, target=target)
    return Quantized(graph, values, layers, target)


def value_affines(
    graph: Graph,
    seen: Observed,
    *,
    target: Target,
    ranges: str = "mse",
    percentile: float = 99.99,
    exclude: Collection[str] = (),
) -> dict[str, Affine]:
    """The integers of the values of a graph.

    Args:
      graph: in float.
      seen: what its values are like, with histograms unless `ranges` is "minmax".
      target: whose integers they are.
      ranges, percentile: see `range_of`.
      exclude: names whose values stay real, as `post_training` tells.

    Returns:
      An `Affine` for the name of every value in integers. Values that pass on unchanged share those of what they come
      from; a value that only a clip takes has those of the clipped one, since integers saturate.
    """
    values = {graph.input: affine(*seen.ends[graph.input], target=target)}
    for node in graph.nodes:
        if node.op in PASSING and node.inputs[0] in values:
            values[node.name] = values[node.inputs[0]]
        elif _is_rounded(graph, node, exclude):
            fixed = FIXED.get(node.op) if target.name == "litert" else None
            name = _clipped(graph, node)
            values[node.name] = fixed or affine(*_ends(seen, name, target, ranges, percentile), target=target)
    return values


def _seen(graph: Graph, batches: Batches | Observed, ranges: str, bins: int, equalize: bool, rounding: str) -> Observed:
    moments = rounding == "compensated"
    if not isinstance(batches, Observed):
        return observed(graph, batches, bins=None if ranges == "minmax" else bins, moments=moments)
    if equalize:
        raise ValueError("what was observed is of a graph not equalised yet; equalise it, then observe it")
    if batches.ends.keys() != {graph.input, *(node.name for node in graph.nodes)}:
        raise ValueError("what was observed is of another graph: it has other names; observe this one")
    if ranges != "minmax" and batches.histograms is None:
        raise ValueError(f"ranges {ranges!r} need histograms; observe with bins=2048, or choose 'minmax'")
    if moments and batches.moments is None:
        raise ValueError("rounding 'compensated' needs moments; observe with moments=True, or choose 'nearest'")
    return batches


def _is_rounded(graph: Graph, node: Node, exclude: Collection[str]) -> bool:
    if node.name not in exclude:
        return node.op not in PASSING
    return node.op in WITH_WEIGHTS and node.name != graph.output


def _clipped(graph: Graph, node: Node) -> str:
    """The name of the value whose range a value needs: its own, or that of the clip which alone takes it."""
    users = graph.users(node.name)
    alone = len(users) == 1 and users[0].op == "clip" and node.name != graph.output
    return users[0].name if alone else node.name


def _ends(seen: Observed, name: str, target: Target, ranges: str, percentile: float) -> tuple[float, float]:
    if seen.histograms is None:
        return seen.ends[name]
    return range_of(seen.histograms[name], ranges, target=target, percentile=percentile)


def _products(seen: Observed, bias_correction: bool, exclude: Collection[str]) -> dict[str, np.ndarray]:
    """About the mean, if the biases will take up the mean error."""
    kept = {name: moments for name, moments in seen.moments.items() if name not in exclude}
    return {name: moments.covariance if bias_correction else moments.second for name, moments in kept.items()}


def _check(
    graph: Graph,
    ranges: str,
    percentile: float,
    bins: int,
    equalize: bool,
    bias_correction: bool,
    weights: str,
    rounding: str,
    exclude: Collection[str],
) -> None:
    one_of_names("ranges", ranges, RANGES)
    one_of_names("weights", weights, WEIGHTS)
    one_of_names("rounding", rounding, ROUNDING)
    flag("equalize", equalize)
    flag("bias_correction", bias_correction)
    percentile_share(percentile)
    empty(bins)
    unknown = sorted(set(exclude) - {node.name for node in graph.nodes})
    if isinstance(exclude, str) or unknown:
        raise ValueError(f"exclude must be names of nodes of the graph, got {exclude!r}; not there: {unknown}")
