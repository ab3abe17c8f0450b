"""From a trained network in float to one in integers, without training."""

from collections.abc import Collection, Mapping

from jaxkit.compress.calibrate import Batches, Observed, observed
from jaxkit.compress.graph import Graph
from jaxkit.compress.quantized import WITH_WEIGHTS, Affine, Quantized
from jaxkit.compress.rounding import WEIGHTS, affine, quantized_layers
from jaxkit.compress.target import Target
from jaxkit.ranges import one_of_names

RANGES = ("minmax", "percentile", "entropy", "mse")
SAME = ("max_pool", "reshape")


def post_training(
    graph: Graph,
    batches: Batches,
    *,
    target: Target,
    ranges: str = "mse",
    weights: str = "channel",
    exclude: Collection[str] = (),
) -> Quantized:
    """A network in integers, by what its values are like on some real inputs."""
    one_of_names("ranges", ranges, RANGES)
    one_of_names("weights", weights, WEIGHTS)
    seen = observed(graph, batches)
    values = value_affines(graph, seen, target=target, exclude=exclude)
    layers = quantized_layers(graph, values, target=target, weights=weights)
    return Quantized(graph, values, {k: v for k, v in layers.items() if k not in exclude}, target)


def value_affines(graph: Graph, seen: Observed, *, target: Target, exclude: Collection[str]) -> Mapping[str, Affine]:
    values = {graph.input: affine(*seen.ends[graph.input], target=target)}
    for node in graph.nodes:
        if node.op in SAME and node.inputs[0] in values:
            values[node.name] = values[node.inputs[0]]
        elif node.op in WITH_WEIGHTS or node.name not in exclude:
            values[node.name] = affine(*seen.ends[node.name], target=target)
    return values
