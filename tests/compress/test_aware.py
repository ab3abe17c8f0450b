"""Training with integers: the forward pass is the simulator's, the gradients are finite and do their work."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

from jaxkit.compress import target, trace
from jaxkit.compress.aware import converted, quantization_aware
from jaxkit.compress.post_training import post_training
from jaxkit.compress.rounding import quantized_layers
from jaxkit.compress.simulate import simulate

LAYOUT = ("NHWC", "HWIO", "NHWC")
SHAPE = (8, 7, 3)
CASES = [("onnxruntime", "lsq"), ("litert", "ste"), ("tensorrt", "ste")]


def _weights(rng, *shape):
    return (rng.normal(size=shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)


def _network(rng):
    """A convolution, a depthwise one, a residual sum, a mean and a dense layer, all with clips where they may be."""
    kernels = [_weights(rng, *shape) for shape in ((3, 3, 3, 8), (3, 3, 1, 8), (1, 1, 8, 8), (4, 5))]
    biases = [_weights(rng, n) for n in (8, 8, 8, 5)]

    def conv(x, at, strides, **settings):
        out = jax.lax.conv_general_dilated(x, kernels[at], strides, "SAME", dimension_numbers=LAYOUT, **settings)
        return out + biases[at][None, None, None]

    def network(x):
        x = jnp.clip(conv(x, 0, (2, 1)), 0.0, 6.0)
        y = jax.nn.relu(conv(x, 1, (1, 1), feature_group_count=8))
        x = jnp.clip(x + conv(y, 2, (1, 1)), -1.0, 2.0)
        x = jnp.mean(x, axis=(1, 2)).reshape(x.shape[0], 2, 4)
        return x @ kernels[3] + biases[3][None, None]

    return trace(network, jax.ShapeDtypeStruct((1, *SHAPE), jnp.float32))


def _started(rng, name, method, **settings):
    graph, x = _network(rng), rng.normal(size=(16, *SHAPE)).astype(np.float32)
    start = post_training(graph, [x], target=target(name), ranges="minmax", rounding="nearest", **settings)
    return start, *quantization_aware(start.graph, target=start.target, start=start, method=method), x


def _moved(rng, params, by):
    return jax.tree.map(lambda v: v * np.float32(1 + by * rng.normal()) + np.float32(by * rng.normal()), params)


@pytest.mark.parametrize("name, method", CASES)
def test_conversion_changes_no_bit(rng, name, method):
    start, function, params, x = _started(rng, name, method)
    # As in training: a function and its gradient are another program than the function alone.
    step = jax.jit(jax.value_and_grad(lambda p: (jnp.sum(function(p, x)), function(p, x)), has_aux=True))
    np.testing.assert_array_equal(step(params)[0][1], jax.jit(simulate(start))(x))
    others = _moved(rng, params, 0.1)
    (_, found), gradients = step(others)
    np.testing.assert_array_equal(found, jax.jit(simulate(converted(others, start=start)))(x))
    assert not np.array_equal(found, step(params)[0][1])
    for path, leaf in jax.tree_util.tree_leaves_with_path(gradients):
        assert np.isfinite(leaf).all() and np.any(leaf), path


@pytest.mark.parametrize("weights", ["channel", "tensor"])
@pytest.mark.parametrize("name", ["onnxruntime", "litert"])
def test_weights_are_rounded_by_the_rule_of_conversion(rng, name, weights):
    start, _, params, _ = _started(rng, name, "ste", weights=weights)
    first = start.graph.nodes[0].name
    kernel = params["layers"][first]["kernel"].at[..., 0].set(0.0).at[..., 1].set(1e-30)
    params["layers"][first] = {"kernel": kernel, "bias": jnp.full(8, 3e3)}
    found = converted(params, start=start)
    expected = quantized_layers(found.graph, found.values, target=found.target, weights=weights)
    for layer, (own_kernel, own_bias) in found.layers.items():
        np.testing.assert_array_equal(own_kernel.stored, expected[layer].kernel.stored, strict=True)
        np.testing.assert_array_equal(own_kernel.scale, expected[layer].kernel.scale, strict=True)
        np.testing.assert_allclose(own_bias, expected[layer].bias, atol=1, strict=True)
    assert np.abs(found.layers[first].bias).max() <= 2**24 + 1


def test_what_is_left_in_float_trains_too(rng):
    names = [node.name for node in _network(rng).nodes if node.op == "conv"]
    start, function, params, x = _started(rng, "onnxruntime", "lsq", exclude=names[1:2])
    np.testing.assert_array_equal(jax.jit(function)(params, x), jax.jit(simulate(start))(x))
    gradients = jax.jit(jax.grad(lambda p: jnp.sum(function(p, x))))(params)
    assert np.any(gradients["layers"][names[1]]["kernel"])


def test_gradients_are_those_of_the_network_in_float_where_steps_are_fine(rng):
    start, function, params, x = _started(rng, "xla", "ste")
    fine = {name: at._replace(scale=np.float32(4) * at.scale) for name, at in start.values.items()}
    start = dataclasses.replace(start, values=fine)
    function, _ = quantization_aware(start.graph, target=start.target, start=start)

    def loss(network):
        return lambda layers: jnp.sum(jnp.square(network(layers)))

    def in_float(layers):
        nodes = [node.replace(weights=layers.get(node.name, node.weights)) for node in start.graph.nodes]
        return dataclasses.replace(start.graph, nodes=tuple(nodes))(x)

    found = jax.jit(jax.grad(loss(lambda layers: function({"layers": layers, "scales": {}}, x))))(params["layers"])
    expected = jax.jit(jax.grad(loss(in_float)))(params["layers"])
    for own, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert np.vdot(own, other) > 0.95 * np.linalg.norm(own) * np.linalg.norm(other)


def test_values_with_common_integers_keep_them_in_common(rng):
    start, _, params, _ = _started(rng, "litert", "lsq")
    found = converted(_moved(rng, params, 0.1), start=start)
    same = [node for node in start.graph.nodes if node.op == "reshape"]
    assert same
    for node in same:
        assert found.values[node.name] == found.values[node.inputs[0]]
    assert found.values[start.graph.input] == start.values[start.graph.input]
    assert sum(found.values[name] != at for name, at in start.values.items()) >= 5


def _depthwise(rngs):
    first = nnx.Conv(1, 6, (1, 1), rngs=rngs)
    each = nnx.Conv(6, 6, (3, 3), feature_group_count=6, rngs=rngs)
    last = nnx.Linear(6, 3, rngs=rngs)
    return nnx.Sequential(first, jax.nn.relu, each, jax.nn.relu, lambda x: jnp.mean(x, axis=(1, 2)), last)


@pytest.mark.parametrize("method, share", [("ste", 0.95), ("lsq", 0.8)])
def test_a_depthwise_network_learns_to_live_with_tight_ranges(rng, method, share):
    graph = trace(_depthwise(nnx.Rngs(0)), jax.ShapeDtypeStruct((1, 6, 6, 1), jnp.float32))
    x = rng.normal(size=(64, 6, 6, 1)).astype(np.float32)
    wanted = graph(jnp.asarray(x))
    start = post_training(graph, [x], target=target("litert"), weights="tensor", ranges="minmax", rounding="nearest")
    tight = {name: at._replace(scale=at.scale / np.float32(4)) for name, at in start.values.items()}
    start = dataclasses.replace(start, values={**tight, graph.input: start.values[graph.input]})
    function, first = quantization_aware(graph, target=start.target, start=start, method=method)
    params, losses = _trained(lambda params: jnp.mean(jnp.square(function(params, x) - wanted)), first, steps=30)
    assert losses[-1] < share * losses[0]
    each = next(node.name for node in graph.nodes if node.settings.get("groups") == 6)
    moved = params["layers"][each]["kernel"] - first["layers"][each]["kernel"]
    assert np.isfinite(moved).all() and np.sum(np.any(moved, axis=(0, 1, 2))) >= 5  # one may be dead


def _trained(loss, params, steps):
    optimizer = optax.adam(0.01)

    @jax.jit
    def step(params, state):
        value, gradients = jax.value_and_grad(loss)(params)
        with jax.numpy_dtype_promotion("standard"):  # optax mixes integers and floats
            updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state, value

    state, losses = optimizer.init(params), []
    for _ in range(steps + 1):
        params, state, value = step(params, state)
        losses.append(float(value))
    return params, losses


def test_wrong_beginnings_are_refused(rng):
    start, _, params, _ = _started(rng, "xla", "ste")
    with pytest.raises(ValueError, match="method"):
        quantization_aware(start.graph, target=start.target, start=start, method="adaround")
    with pytest.raises(ValueError, match="xla"):
        quantization_aware(start.graph, target=target("litert"), start=start)
    with pytest.raises(ValueError, match="other nodes"):
        quantization_aware(dataclasses.replace(start.graph, nodes=()), target=start.target, start=start)
    params["layers"][start.graph.nodes[0].name]["bias"] = jnp.full(8, jnp.nan)
    with pytest.raises(ValueError, match="bias.*not finite"):
        converted(params, start=start)
