"""Biases that make up for what the rounding of weights does to the mean of a layer's sums.

Rounded weights shift every output channel by `E[(rounded - real) * x]`: Nagel et al., "Data-free quantization through
weight equalization and bias correction" (2019), section 4.2, with means over real inputs instead of those that batch
normalisation tells. The mean is over places as well, and exact: strides, dilation and what lies beyond the edge count.
Neglected is that `x` itself was rounded, and shifted by layers before: means are of the network in float.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np

from jaxkit.compress.graph import Graph, Node
from jaxkit.compress.quantized import Layer


def corrected(graph: Graph, layers: Mapping[str, Layer], means: Mapping[str, np.ndarray]) -> Graph:
    """The graph with biases for rounded weights.

    Args:
      graph: in float.
      layers: the integers of its weights. Biases of nodes that are not among them stay.
      means: of the layers' inputs, `[..., C]` without N.

    Returns:
      A graph with the same kernels and other biases.
    """
    nodes = [
        _corrected(node, layers[node.name], means[node.inputs[0]]) if node.name in layers else node
        for node in graph.nodes
    ]
    return dataclasses.replace(graph, nodes=tuple(nodes))


def _corrected(node: Node, layer: Layer, mean: np.ndarray) -> Node:
    kernel, bias = (node.weights[name].astype(np.float64) for name in ("kernel", "bias"))
    rounded = np.asarray(layer.kernel.values(), np.float64) * np.asarray(layer.kernel.scale, np.float64)
    shift = mean_sums(node, rounded - kernel, mean)
    return node.replace(weights={**node.weights, "bias": np.float32(bias - shift)})


def mean_sums(node: Node, kernel: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The mean over places of what a layer with such a kernel makes of an input; it is linear, so of mean inputs too.

    Args:
      node: a convolution, for its settings, or a dense layer.
      kernel: `[..., I / groups, O]`.
      mean: of the inputs, `[..., I]` without N.

    Returns:
      `[O]`.
    """
    groups = node.settings.get("groups", 1)
    if node.op == "dense":
        taps = mean.reshape(1, -1, mean.shape[-1]).mean(axis=1)
    else:
        taps = _tap_means(node, kernel.shape[:-2], mean)
    inputs, outputs = kernel.shape[-2], kernel.shape[-1] // groups
    seen = taps.reshape(-1, groups, inputs)
    return np.einsum("tgi,tigo->go", seen, kernel.reshape(-1, inputs, groups, outputs)).reshape(-1)


def _tap_means(node: Node, window: tuple[int, ...], mean: np.ndarray) -> np.ndarray:
    """What every place of a kernel sees on average, `[places of the kernel, I]`; zeros beyond the edge."""
    strides, pads, dilation = (node.settings[name] for name in ("strides", "pads", "dilation"))
    x = np.pad(mean, (*pads, (0, 0)))
    spans = [size - (n - 1) * d for size, n, d in zip(x.shape, window, dilation, strict=False)]
    places = []
    for tap in np.ndindex(*window):
        starts = [at * d for at, d in zip(tap, dilation, strict=True)]
        part = tuple(slice(a, a + span, s) for a, span, s in zip(starts, spans, strides, strict=True))
        places.append(x[part].mean(axis=tuple(range(len(window)))))
    return np.stack(places)
