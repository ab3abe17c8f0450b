"""Networks in integers: exact sums, every rounding where the runtimes have it, and the same for any batch."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from jaxkit.compress import Affine, Graph, Layer, Node, QArray, Quantized, target, trace
from jaxkit.compress.integer import add_folded, conv_sums, dense_sums, fused
from jaxkit.compress.simulate import simulate, simulate_values
from jaxkit.nn import InvertedResidual

CONV = {"strides": (2, 1), "pads": ((1, 0), (2, 1)), "dilation": (1, 2)}


def _patch_sums(x, kernel, strides, pads, dilation, groups):
    """A convolution as the sum over places of the kernel of matrix products, in int64."""
    x = np.pad(x.astype(np.int64), ((0, 0), *pads, (0, 0)))
    high, wide, inputs, outputs = kernel.shape
    rows = (x.shape[1] - (high - 1) * dilation[0] - 1) // strides[0] + 1
    columns = (x.shape[2] - (wide - 1) * dilation[1] - 1) // strides[1] + 1
    total = np.zeros((len(x), rows, columns, outputs), np.int64)
    for i, j in np.ndindex(high, wide):
        seen = x[:, i * dilation[0] :, j * dilation[1] :][:, :: strides[0], :: strides[1]][:, :rows, :columns]
        for own in range(groups):
            to = slice(own * outputs // groups, (own + 1) * outputs // groups)
            total[..., to] += seen[..., own * inputs : (own + 1) * inputs] @ kernel[i, j, :, to].astype(np.int64)
    return total


@pytest.mark.parametrize("groups, inputs, outputs", [(1, 300, 3), (6, 6, 12), (3, 6, 6), (2, 600, 4)])
def test_sums_of_a_convolution_are_exact_however_large(rng, groups, inputs, outputs):
    x = rng.integers(200, 256, (2, 7, 8, inputs)).astype(np.float32)
    kernel = rng.integers(100, 128, (3, 2, inputs // groups, outputs)).astype(np.int8)
    expected = _patch_sums(x, kernel, **CONV, groups=groups)
    found = jax.jit(lambda x: conv_sums(x, kernel, {**CONV, "groups": groups}))(x)
    np.testing.assert_array_equal(found, expected)
    traced = jax.jit(lambda x, kernel: conv_sums(x, kernel, {**CONV, "groups": groups}))(x, kernel)
    np.testing.assert_array_equal(traced, expected)


def test_sums_of_a_dense_layer_are_exact_beyond_what_float32_holds(rng):
    x, kernel = rng.integers(200, 256, (5, 2000)), rng.integers(100, 128, (2000, 3)).astype(np.int8)
    found = jax.jit(lambda x: dense_sums(x, kernel))(x.astype(np.float32))
    assert found.max() > 2**24
    np.testing.assert_array_equal(found, x @ kernel.astype(np.int64))


@pytest.mark.parametrize("scale", [0.3711, 1 / 3, 0.001, 77.7])
def test_a_fused_product_and_sum_is_rounded_once(rng, scale):
    x = rng.integers(-255, 256, 50_000).astype(np.float32)
    term = (rng.normal(size=x.size) * rng.choice([1e-3, 1, 10, 200], x.size)).astype(np.float32)
    expected = np.float32(x.astype(np.float64) * np.float64(np.float32(scale)) + term)
    np.testing.assert_array_equal(jax.jit(fused)(x, np.float32(scale), term), expected)


def _fma(x, y, z):
    return np.float32(np.float64(x) * np.float64(y) + np.float64(z))


def test_sums_of_two_scales_follow_the_kernel_of_onnx_runtime(rng):
    x, y = np.meshgrid(np.arange(256, dtype=np.uint8), np.arange(256, dtype=np.uint8))
    for ratio in (0.5, 0.625, 0.25, 0.731):
        scale = np.float32(rng.uniform(0.01, 0.1))
        at = (Affine(scale, 3), Affine(scale, 181), Affine(scale / np.float32(ratio), 77))
        share = scale / at[2].scale
        constant = np.float32(77) - _fma(share, 3, share * np.float32(181))
        expected = np.clip(np.rint(_fma(x, share, _fma(y, share, constant))), 0, 255)
        np.testing.assert_array_equal(jax.jit(lambda x, y, at=at: add_folded(x, y, at, jnp.uint8))(x, y), expected)


def _gated_block(rng, name):
    settings = {"hidden": 16, "squeeze": 4, "activation": jax.nn.hard_swish, "gate": jax.nn.hard_sigmoid}
    block = InvertedResidual(8, 8, **settings, rngs=nnx.Rngs(0))
    block.eval()
    graph = trace(block, jax.ShapeDtypeStruct((1, 10, 9, 8), jnp.float32))
    x = rng.normal(size=(16, 10, 9, 8)).astype(np.float32)
    return min_max(graph, x, target(name)), x


def min_max(graph, x, runtime):
    """Integers by the ranges of some inputs and the largest weights: no more than these tests need."""
    kind = np.iinfo(runtime.activations)
    values, layers = {}, {}
    for name, seen in jax.jit(graph.values)(x).items():
        low, high = min(float(seen.min()), 0.0), max(float(seen.max()), 0.0)
        scale = np.float32(max(high, -low) / 127 if runtime.symmetric else (high - low) / 255)
        values[name] = Affine(scale, 0 if runtime.symmetric else int(np.rint(kind.min - low / scale)))
    for node in graph.nodes:
        if node.op in ("reshape", "max_pool"):
            values[node.name] = values[node.inputs[0]]
        if node.weights and node.op != "affine":
            layers[node.name] = _layer(node, values[node.inputs[0]].scale, runtime)
    return Quantized(graph, values, layers, runtime)


def _layer(node, scale, runtime):
    kernel, bias = node.weights["kernel"], node.weights["bias"]
    size = np.abs(kernel).max(tuple(range(kernel.ndim - 1)), keepdims=True) / np.float32(63)
    values = np.rint(kernel / size).astype(np.int8)
    steps = np.rint(bias / (scale * size.reshape(-1))).astype(np.int32)
    return Layer(QArray(values, size, kernel.shape), bias if runtime.bias == "float32" else steps)


@pytest.mark.parametrize("name", ["onnxruntime", "litert", "tensorrt"])
def test_a_block_with_gates_is_close_to_float_whatever_the_batch(rng, name):
    q, x = _gated_block(rng, name)
    run = simulate(q)
    together = jax.jit(run)(x)
    np.testing.assert_array_equal(jax.jit(jax.vmap(lambda one: run(one[None])[0]))(x), together)
    np.testing.assert_array_equal(jax.jit(run)(x[:1]), together[:1])
    wanted = q.graph(jnp.asarray(x))
    assert np.sum(np.square(wanted)) > 1000 * np.sum(np.square(wanted - together))


def test_every_value_is_a_multiple_of_its_scale(rng):
    q, x = _gated_block(rng, "onnxruntime")
    values = jax.jit(simulate_values(q))(x[:2])
    assert values.keys() == q.values.keys()
    for name, found in values.items():
        steps = np.asarray(found) / q.values[name].scale
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-3)
    np.testing.assert_array_equal(values[q.graph.output], jax.jit(simulate(q))(x[:2]))


def test_layers_with_integers_for_their_weights_alone_run_in_float(rng):
    q, x = _gated_block(rng, "onnxruntime")
    layers = {k: v._replace(bias=q.graph.nodes[0].weights["bias"]) for k, v in q.layers.items()}
    first = q.graph.nodes[0]
    alone = dataclasses.replace(q, values={}, layers={first.name: layers[first.name]})
    weights = {"kernel": np.asarray(layers[first.name].kernel.dequantize()), "bias": first.weights["bias"]}
    nodes = (first.replace(weights=weights), *q.graph.nodes[1:])
    expected = dataclasses.replace(q.graph, nodes=nodes)
    np.testing.assert_allclose(jax.jit(simulate(alone))(x[:2]), jax.jit(expected)(x[:2]), rtol=1e-5, atol=1e-5)


def test_an_operation_without_a_rule_is_refused_at_once():
    graph = Graph((Node("sorted", "sort", ("input",)),), "input", "sorted", (3,))
    with pytest.raises(ValueError, match="sorted has the operation 'sort'"):
        simulate(Quantized(graph, {}, {}, target("xla")))


def test_scales_may_be_arguments_of_the_compiled_function(rng):
    q, x = _gated_block(rng, "onnxruntime")

    def run(scales, layers, x):
        values = {name: Affine(scales[name], at.zero_point) for name, at in q.values.items()}
        return simulate(Quantized(q.graph, values, layers, q.target))(x)

    scales = {name: at.scale for name, at in q.values.items()}
    np.testing.assert_array_equal(jax.jit(run)(scales, dict(q.layers), x), jax.jit(simulate(q))(x))


def test_scales_for_blocks_of_weights_are_refused_on_integers_at_once(rng):
    q, _ = _gated_block(rng, "onnxruntime")
    name, layer = next(iter(q.layers.items()))
    kernel = dataclasses.replace(layer.kernel, scale=np.ones((1, 1, 2, 16), np.float32))
    with pytest.raises(ValueError, match="one for each of 16 output channels"):
        simulate(dataclasses.replace(q, layers={**q.layers, name: layer._replace(kernel=kernel)}))
