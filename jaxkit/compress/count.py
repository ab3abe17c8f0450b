"""What a network costs: multiply-adds, parameters, and the bytes that they take."""

import math
from typing import NamedTuple

import jax
import numpy as np

from jaxkit.compress.graph import Graph
from jaxkit.compress.quantized import WITH_WEIGHTS, Quantized

FLOAT_BYTES = 4


class Cost(NamedTuple):
    """Of a node, or of several.

    Attributes:
      macs: multiply-adds of convolutions and dense layers for one example, those with padding included, as papers
        count them.
      parameters: numbers that were learned: kernels, biases, scales and shifts.
      bytes: that the parameters take, with the scales of integers.
    """

    macs: int
    parameters: int
    bytes: int


def count(network: Graph | Quantized) -> dict[str, Cost]:
    """The cost of every node by its name.

    Args:
      network: in float, four bytes to a parameter; or with integers, whose layers have the bytes that they are stored
        in.
    """
    graph = network.graph if isinstance(network, Quantized) else network
    spec = jax.eval_shape(graph.values, jax.ShapeDtypeStruct((1, *graph.shape), np.float32))
    layers = network.layers if isinstance(network, Quantized) else {}
    costs = {}
    for node in graph.nodes:
        places = math.prod(spec[node.name].shape[:-1])
        macs = places * node.weights["kernel"].size if node.op in WITH_WEIGHTS else 0
        parameters = sum(np.size(values) for values in node.weights.values())
        layer = layers.get(node.name)
        held = FLOAT_BYTES * parameters if layer is None else layer.kernel.nbytes + layer.bias.nbytes
        costs[node.name] = Cost(macs, parameters, held)
    return costs


def total(costs: dict[str, Cost]) -> Cost:
    """The sum of the costs of nodes."""
    return Cost(*(sum(column) for column in zip(*costs.values(), strict=True))) if costs else Cost(0, 0, 0)
