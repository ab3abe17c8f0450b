"""Small networks for the tests of exporters, one for each operation, and the simplest integers for them."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from jaxkit.compress import Affine, Layer, QArray, Quantized, trace
from jaxkit.nn import InvertedResidual

PICTURES = (9, 8, 6)


def weights(*shape, seed=0):
    return (np.random.default_rng(seed).normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)


def conv(x, kernel, *, strides=(1, 1), padding="SAME", **settings):
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=layout, **settings)


def average(x, window, strides):
    pads = ((0, 0), (1, 1), (1, 0), (0, 0))
    total = jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, *window, 1), (1, *strides, 1), pads)
    return total / float(np.prod(window))


EXACT = {
    "conv": lambda x: conv(x, weights(3, 2, 6, 5), strides=(2, 1), padding=((1, 2), (0, 1)), rhs_dilation=(1, 2)),
    "depthwise conv": lambda x: jnp.clip(conv(x, weights(3, 3, 1, 12), feature_group_count=6) + 0.3, -0.5, 6.0),
    "grouped conv": lambda x: jax.nn.relu(conv(x, weights(3, 3, 3, 8), feature_group_count=2)),
    "dense on pictures": lambda x: x @ weights(6, 7) + weights(7)[None, None, None],
    "dense on rows": lambda x: jnp.mean(x, axis=(1, 2)) @ weights(6, 7) - weights(7)[None],
    "dense on sequences": lambda x: jax.nn.relu(x.reshape(x.shape[0], 72, 6) @ weights(6, 7)),
    "add": lambda x: x + conv(x, weights(1, 1, 6, 6)),
    "add and clip": lambda x: jnp.clip(x + conv(x, weights(1, 1, 6, 6)), 0.0, 3.0),
    "mul": lambda x: x * conv(x, weights(1, 1, 6, 6)),
    "gate": lambda x: x * (jnp.mean(x, axis=(1, 2)) @ weights(6, 6))[:, None, None],
    "flatten": lambda x: x.reshape(x.shape[0], -1) @ weights(9 * 8 * 6, 5),
    "flatten and back": lambda x: conv(x.reshape(x.shape[0], -1).reshape(x.shape[0], 4, 12, 9), weights(3, 3, 9, 4)),
    "max pool": lambda x: nnx.max_pool(x, (3, 2), strides=(2, 1), padding=((1, 1), (0, 0))),
    "concat": lambda x: jnp.concatenate([x, jax.nn.relu(x), 3.0 * nnx.max_pool(x, (1, 1))], axis=-1),
    "clip": lambda x: jnp.clip(x, -1.0, 0.7),
    "mean of pictures": lambda x: jnp.mean(x, axis=(1, 2)),
}
CLOSE = {
    "average pool": lambda x: average(x, (3, 3), (2, 1)),
    "sigmoid": jax.nn.sigmoid,
    "hard sigmoid": jax.nn.hard_sigmoid,
    "hard swish": jax.nn.hard_swish,
    "silu": jax.nn.silu,
    "tanh": jnp.tanh,
    "exp": lambda x: jnp.exp(-x),
    "roots": lambda x: jnp.log(jax.lax.rsqrt(jnp.sqrt(x * x + 1.0))),
    "sub": lambda x: x - jnp.tanh(x),
    "div": lambda x: x / (jnp.exp(x) + 1.0),
    "affine": lambda x: (x - weights(6)[None, None, None]) * 0.7,
    "mean of rows": lambda x: jnp.mean(x, axis=2),
    "mean of channels": lambda x: jnp.mean(x, axis=(3,)),
}


def graph_of(name):
    return trace({**EXACT, **CLOSE}[name], jax.ShapeDtypeStruct((1, *PICTURES), jnp.float32))


def gated_block():
    settings = {"hidden": 16, "squeeze": 8, "activation": jax.nn.hard_swish, "gate": jax.nn.hard_sigmoid}
    block = InvertedResidual(8, 8, **settings, rngs=nnx.Rngs(0))
    block.eval()
    return trace(block, jax.ShapeDtypeStruct((1, 10, 9, 8), jnp.float32))


def inputs(rng, shape, count=24):
    return rng.normal(size=(count, *shape)).astype(np.float32)


def min_max(graph, x, runtime):
    """Integers by the ranges of some inputs and the largest weights, at half of what 8 bits hold."""
    kind = np.iinfo(runtime.activations)
    values = {}
    for name, seen in jax.jit(graph.values)(x).items():
        low, high = min(float(seen.min()), 0.0), max(float(seen.max()), 0.0)
        scale = np.float32(max(high, -low) / 127 if runtime.symmetric else (high - low) / 255)
        values[name] = Affine(scale, 0 if runtime.symmetric else int(np.rint(kind.min - low / scale)))
    for node in graph.nodes:
        if node.op in ("reshape", "max_pool"):
            values[node.name] = values[node.inputs[0]]
    layers = [node for node in graph.nodes if node.op in ("conv", "dense")]
    layers = {node.name: layer_of(node, values[node.inputs[0]].scale, runtime.bias) for node in layers}
    return Quantized(graph, values, layers, runtime)


def layer_of(node, scale, bias="int32", most=63):
    kernel = node.weights["kernel"]
    size = np.abs(kernel).max(tuple(range(kernel.ndim - 1)), keepdims=True) / np.float32(most)
    steps = np.rint(node.weights["bias"] / (scale * size.reshape(-1))).astype(np.int32)
    held = QArray(np.rint(kernel / size).astype(np.int8), size, kernel.shape)
    return Layer(held, steps if bias == "int32" else node.weights["bias"])
