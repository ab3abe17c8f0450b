"""Channels of neighbouring layers brought to like size, without a change of what the network computes.

Where nothing but steps that commute with a positive factor lie between two layers, a channel may leave the first one
divided by any factor that the second one multiplies it with: Nagel et al., "Data-free quantization through weight
equalization and bias correction" (2019), section 4.1. Such steps are no clip at all, a clip at 0, max_pool, avg_pool
and, behind a convolution, means over places. A clip at 6 is not one: layers that end in it stay as they are.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np

from jaxkit.compress.graph import Graph, Node
from jaxkit.compress.quantized import WITH_WEIGHTS

BETWEEN = ("clip", "max_pool", "avg_pool", "mean")
SWEEPS = 20
CLOSE = 1e-3
FURTHEST = 1024.0  # a factor, of channels that are next to dead
Kernels = dict[str, np.ndarray]


def equalized(graph: Graph) -> Graph:
    """The same function with the ranges of channels alike on both sides of a value.

    Args:
      graph: in float.

    Returns:
      A graph whose layers have other weights; the output differs by rounding errors of float32 alone.
    """
    pairs = layer_pairs(graph)
    nodes = {node.name: node for node in graph.nodes}
    taken = {name for pair in pairs for name in pair}
    kernels = {name: nodes[name].weights["kernel"].astype(np.float64) for name in taken}
    biases = {name: nodes[name].weights["bias"].astype(np.float64) for name in taken}
    for _ in range(SWEEPS):
        factors = [_scaled(nodes, kernels, biases, *pair) for pair in pairs]
        if all(np.abs(np.log(factor)).max() < CLOSE for factor in factors):
            break
    weights = {name: {"kernel": np.float32(kernels[name]), "bias": np.float32(biases[name])} for name in taken}
    changed = [node.replace(weights=weights.get(node.name, node.weights)) for node in graph.nodes]
    return dataclasses.replace(graph, nodes=tuple(changed))


def layer_pairs(graph: Graph) -> list[tuple[str, str]]:
    """Names of layers between which factors of channels pass unchanged, in the order of the graph."""
    pairs = []
    for node in graph.nodes:
        if node.op in WITH_WEIGHTS and _commutes(node):
            after = _after(graph, node)
            if after is not None:
                pairs.append((node.name, after.name))
    return pairs


def _after(graph: Graph, node: Node) -> Node | None:
    """The layer that takes the result of a layer, by way of steps that commute with a factor, if nothing else does."""
    axes = node.weights["kernel"].ndim if node.op == "conv" else 0
    while node.name != graph.output:
        users = graph.users(node.name)
        if len(users) != 1:
            return None
        (node,) = users
        if node.op in WITH_WEIGHTS:
            return node
        if node.op not in BETWEEN or not _commutes(node):
            return None
        if node.op == "mean":
            if max(node.settings["axes"]) >= axes - 1:  # over channels, or over nobody knows what
                return None
            axes -= len(node.settings["axes"])
    return None


def _commutes(node: Node) -> bool:
    limits = (node.settings["low"], node.settings["high"]) if node.op == "clip" else node.settings.get("clip") or ()
    return all(limit in (None, 0.0) for limit in limits)


def _scaled(nodes: Mapping[str, Node], kernels: Kernels, biases: Kernels, first: str, second: str) -> np.ndarray:
    """Moves the factors of one pair from the first layer to the second, in place; gives the factors `[C]`."""
    groups = nodes[second].settings.get("groups", 1)
    before = np.abs(kernels[first]).reshape(-1, kernels[first].shape[-1]).max(axis=0)
    after = np.abs(_by_input(kernels[second], groups)).max(axis=(0, 3)).T.reshape(-1)
    alive = (before > 0) & (after > 0)
    ratio = np.where(alive, before, 1.0) / np.where(alive, after, 1.0)
    factor = np.clip(np.sqrt(ratio), 1 / FURTHEST, FURTHEST)
    kernels[first], biases[first] = kernels[first] / factor, biases[first] / factor
    shaped = factor.reshape(groups, -1).T[None, :, :, None]
    kernels[second] = (_by_input(kernels[second], groups) * shaped).reshape(kernels[second].shape)
    return factor


def _by_input(kernel: np.ndarray, groups: int) -> np.ndarray:
    """A kernel as `[places, input of the group, group, output of the group]`."""
    return kernel.reshape(-1, kernel.shape[-2], groups, kernel.shape[-1] // groups)
