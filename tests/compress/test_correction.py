"""Corrected biases: the means of sums with rounded weights are those of real ones, edges and strides included."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.compress import Affine, Graph, Node, target
from jaxkit.compress.calibrate import observed
from jaxkit.compress.correction import corrected
from jaxkit.compress.rounding import quantized_layers

SAME = {"strides": (1, 1), "pads": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1}
UNEVEN = {"strides": (2, 3), "pads": ((0, 1), (2, 1)), "dilation": (2, 1), "groups": 2}
DEPTHWISE = {**SAME, "strides": (2, 2), "pads": ((0, 1), (0, 1)), "groups": 4}


def _rounded(graph, layers):
    """The graph with the real values of the integers instead of its kernels."""
    nodes = [n.replace(weights={**n.weights, "kernel": layers[n.name].kernel.dequantize()}) for n in graph.nodes]
    return Graph(tuple(nodes), graph.input, graph.output, graph.shape)


@pytest.mark.parametrize("settings", [SAME, UNEVEN, DEPTHWISE, None], ids=["same", "uneven", "depthwise", "dense"])
def test_the_mean_of_every_channel_is_that_of_real_weights(rng, settings):
    inputs = 4 // (settings or {"groups": 1})["groups"]
    kernel = rng.normal(size=(inputs, 8) if settings is None else (3, 3, inputs, 8))
    kernel *= np.exp(rng.uniform(-4, 0, (inputs, 1)))
    weights = {"kernel": np.float32(kernel), "bias": np.float32(rng.normal(size=8))}
    node = Node("layer", "dense" if settings is None else "conv", ("input",), weights, settings or {})
    graph = Graph((node,), "input", "layer", (9, 8, 4))
    x = (rng.normal(size=(6, 9, 8, 4)) + np.linspace(0, 3, 8)[:, None]).astype(np.float32)
    values = {"input": Affine(np.float32(0.05), 0)}
    layers = quantized_layers(graph, values, target=target("onnxruntime"), weights="tensor")
    changed = corrected(graph, layers, observed(graph, [x[:4], x[4:]]).means)
    means = [
        np.asarray(jax.jit(g)(x), np.float64).mean(axis=(0, 1, 2))
        for g in (graph, _rounded(graph, layers), _rounded(changed, layers))
    ]
    off = np.abs(means[1] - means[0]).max()
    assert off > 1e-3
    np.testing.assert_allclose(means[2], means[0], atol=1e-3 * off + 1e-6)


def test_layers_without_integers_keep_their_biases(rng):
    weights = {"kernel": np.float32(rng.normal(size=(4, 3))), "bias": np.ones(3, np.float32)}
    graph = Graph((Node("layer", "dense", ("input",), weights),), "input", "layer", (4,))
    assert corrected(graph, {}, {}).nodes[0].weights["bias"] is weights["bias"]
    assert jnp.all(corrected(graph, {}, {})(jnp.ones((1, 4))) == graph(jnp.ones((1, 4))))
