"""Training that knows of the integers: what the network computes in training is what its runtime will compute.

The forward pass is the simulator, so converting changes no value. The backward pass is that of the network in float at
the very same values, with roundings passed straight through: Jacob et al., "Quantization and training of neural
networks for efficient integer-arithmetic-only inference" (2018). Depthwise layers are like any other.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxkit.compress.affine import exact_divide
from jaxkit.compress.fake_quant import fake_quant, straight_through
from jaxkit.compress.graph import Graph, Node, evaluate
from jaxkit.compress.post_training import FIXED
from jaxkit.compress.qarray import QArray
from jaxkit.compress.quantized import WITH_WEIGHTS, Affine, Layer, Quantized
from jaxkit.compress.rounding import MOST, weight_scales
from jaxkit.compress.simulate import simulate_values, with_real_weights
from jaxkit.compress.target import Target
from jaxkit.ranges import one_of_names

Array = jax.Array
Params = dict[str, Any]
METHODS = ("ste", "lsq")
LEAST = np.float32(2.0**-10)  # of what a scale was at first


def quantization_aware(
    graph: Graph, *, target: Target, start: Quantized, method: str = "ste"
) -> tuple[Callable[[Params, Array], Array], Params]:
    """A quantized network as a function to train.

    The scales of weights follow the weights at every step, by the rule of conversion: room for pairs of products where
    the target needs it, dead channels and large biases included. Zero points stay as they are.

    Args:
      graph: the network in float with the weights to begin with: mostly `start.graph`.
      target: what will run it, that of `start`.
      start: the scales of values to begin with, as `post_training(rounding="nearest")` finds them: here every weight is
        rounded by itself, and biases that were corrected for another rounding do not fit.
      method: "ste": scales of values stay. "lsq": they are learned as well (Esser et al., "Learned step size
        quantization", 2020), but for those of the input and of what the target's specification fixes. Each is kept as a
        factor of what it was at first, so one learning rate suits scales of any size, and a product of two numbers is
        the same in training and conversion, as an exponential is not.

    Returns:
      A pure function `(params, x)` of float32 `[N, *graph.shape]` to the output of the network in integers, float32,
      and the first `params`, float32: `{"layers": {name: {"kernel", "bias"}}, "scales": {name: factor}}`.

    Raises:
      ValueError: if there is no such method, or `graph` or `target` is not that of `start`.
    """
    one_of_names("method", method, METHODS)
    if [node.name for node in graph.nodes] != [node.name for node in start.graph.nodes]:
        raise ValueError("graph and start have other nodes; quantize the graph that is to be trained")
    if target != start.target:
        raise ValueError(f"start is for {start.target.name!r}, target is {target.name!r}; quantize for the target")
    layers = {
        node.name: {name: jnp.asarray(node.weights[name], jnp.float32) for name in ("kernel", "bias")}
        for node in graph.nodes
        if node.op in WITH_WEIGHTS
    }
    scales = {} if method == "ste" else {name: jnp.float32(1) for name in _owners(start).values()}
    return lambda params, x: _forward(start, params, x), {"layers": layers, "scales": scales}


def converted(params: Params, *, start: Quantized) -> Quantized:
    """The network that training made, in integers; it computes what the trained function computes, bit for bit.

    Args:
      params: what training made.
      start: what training began with.

    Raises:
      ValueError: if a weight or a scale is not finite.
    """
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        if not np.isfinite(leaf).all():
            raise ValueError(f"{jax.tree_util.keystr(path)} is not finite; train with a smaller rate")
    q = _in_integers(start, params)
    nodes = [node.replace(weights={k: np.asarray(v) for k, v in node.weights.items()}) for node in q.graph.nodes]
    values = {name: Affine(np.float32(at.scale), at.zero_point) for name, at in q.values.items()}
    layers = jax.tree.map(np.asarray, q.layers)
    return Quantized(dataclasses.replace(q.graph, nodes=tuple(nodes)), values, layers, q.target)


def _forward(start: Quantized, params: Params, x: Array) -> Array:
    """The simulator's values, each with the gradient of the operation in float that it stands for."""
    q = _in_integers(start, lax.stop_gradient(params))
    exact = simulate_values(q)(lax.stop_gradient(x))
    values = _values(start, params["scales"])
    gradient = "learned" if params["scales"] else "clipped"

    def held(name: str, smooth: Array) -> Array:
        if name in values:
            smooth = fake_quant(smooth, *values[name], dtype=start.target.activations, gradient=gradient)
        return straight_through(exact[name], smooth)

    found = {start.graph.input: held(start.graph.input, x)}
    for node in start.graph.nodes:
        smooth = evaluate(_smooth(q, node, params), [found[name] for name in node.inputs])
        found[node.name] = held(node.name, smooth)
    return found[start.graph.output]


def _smooth(q: Quantized, node: Node, params: Params) -> Node:
    """A node with the real values of its integers and the gradients of its weights."""
    if node.op not in WITH_WEIGHTS:
        return node
    own, real = params["layers"][node.name], with_real_weights(q, node.replace(weights=params["layers"][node.name]))
    return node.replace(weights={name: straight_through(real.weights[name], own[name]) for name in own})


def _in_integers(start: Quantized, params: Params) -> Quantized:
    """The network with integers for weights that may be traced, by the same operations in training and conversion."""
    values = _values(start, params["scales"])
    nodes = [node.replace(weights=params["layers"].get(node.name, node.weights)) for node in start.graph.nodes]
    layers = {node.name: _layer(node, values.get(node.inputs[0]), start) for node in nodes if node.name in start.layers}
    return Quantized(dataclasses.replace(start.graph, nodes=tuple(nodes)), values, layers, start.target)


def _layer(node: Node, at: Affine | None, start: Quantized) -> Layer:
    """As `quantized_layer`, but on arrays that may be traced."""
    kernel, bias = (jnp.asarray(node.weights[name]) for name in ("kernel", "bias"))
    weights = "tensor" if start.layers[node.name].kernel.scale.size < kernel.shape[-1] else "channel"
    step = None if at is None else at.scale
    scale = weight_scales(kernel, bias, step, target=start.target, weights=weights)
    integers = jnp.clip(jnp.round(exact_divide(kernel, scale)), -MOST, MOST).astype(jnp.int8)
    if step is not None and start.target.bias == "int32":
        bias = jnp.round(exact_divide(bias, step * scale.reshape(-1))).astype(jnp.int32)
    return Layer(QArray(integers, scale, kernel.shape), bias)


def _values(start: Quantized, factors: Mapping[str, Array]) -> dict[str, Affine]:
    """The integers of values, with scales that may be traced."""
    owners = _owners(start)
    return {
        name: at._replace(scale=_scaled(at.scale, factors[owners[name]])) if owners.get(name) in factors else at
        for name, at in start.values.items()
    }


def _scaled(scale: np.float32, factor: Array) -> Array:
    # The maximum also keeps compilers from joining this product with the next one, which would round once for twice.
    return jnp.maximum(scale * factor, scale * LEAST)


def _owners(start: Quantized) -> dict[str, str]:
    """For the names of values whose scale may change, that of the first value with the same integers.

    Values that have their integers in common, as around a reshape, so keep them in common.
    """
    given = {start.values.get(start.graph.input)}
    if start.target.name == "litert":
        given |= {start.values.get(node.name) for node in start.graph.nodes if node.op in FIXED}
    first: dict[Affine, str] = {}
    return {name: first.setdefault(at, name) for name, at in start.values.items() if at not in given}
