"""LiteRT files hold the integers of their network and compute what its simulator computes."""

import dataclasses
import os
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from jaxkit.compress import Affine, Graph, Layer, Node, QArray, Quantized, target, trace
from jaxkit.compress.post_training import post_training
from jaxkit.compress.simulate import simulate
from jaxkit.export.artifact import in_rows
from jaxkit.export.litert import to_litert
from jaxkit.export.litert_process import ADVICE, VARIABLE
from tests.export import networks
from tests.export.networks import (
    CLOSE,
    EXACT,
    PICTURES,
    conv,
    gated_block,
    graph_of,
    inputs,
    layer_of,
    min_max,
    weights,
)
from tests.export.published import crops, lite0

RUNTIME = target("litert")
RULED = ("hard sigmoid", "hard swish", "mean of rows", "mean of channels")
ONE = {"strides": (1, 1), "pads": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1}
# .ci/run always sets the variable; where it is set, everything here must work.
needs_litert = pytest.mark.skipif(VARIABLE not in os.environ, reason="\n".join(ADVICE))
READ = """
import sys, numpy as np
from ai_edge_litert.interpreter import Interpreter
model = Interpreter(model_path=sys.argv[1])
model.allocate_tensors()
found = {}
for t in model.get_tensor_details():
    about = t["quantization_parameters"]
    place = f"{t['index']} {np.dtype(t['dtype'])}"
    found[f"{place} scale"], found[f"{place} zero"] = about["scales"], about["zero_points"]
    try:
        found[f"{place} value"] = model.get_tensor(t["index"])
    except ValueError:
        pass
np.savez(sys.argv[2], **found)
"""


def _in_environment(program, *arguments):
    command = [os.environ[VARIABLE], "-I", "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_litert
@pytest.mark.parametrize("name", [*EXACT, *CLOSE])
def test_every_operation_in_integers(rng, tmp_path, name):
    graph, x = graph_of(name), inputs(rng, PICTURES)
    agreement = to_litert(min_max(graph, x, RUNTIME), tmp_path / "integers.tflite", batch=24).verify(x)
    if name in (*EXACT, *RULED):
        assert agreement.exact == 1
    else:
        assert agreement.exact > 0.999 and agreement.largest < 1.5


def _every_pair(op, ratios):
    """An operation on two values of every pair of integers: two channels of the input, picked by convolutions."""
    scales = [np.float32(0.0437) * np.float32(ratio) for ratio in (*ratios, 1)]
    nodes = [Node(name, "conv", ("x",), {"kernel": np.zeros((1, 1, 2, 1), np.float32)}, ONE) for name in "ab"]
    graph = Graph((*nodes, Node("y", op, ("a", "b"))), "x", "y", (1, 1, 2))
    layers = {}
    for name, channel, scale in zip("ab", (0, 1), scales, strict=False):
        kernel = np.zeros((1, 1, 2, 1), np.int8)
        kernel[0, 0, channel] = 1
        layers[name] = Layer(QArray(kernel, scale.reshape(1, 1, 1, 1), kernel.shape), np.zeros(1, np.int32))
    values = {"x": Affine(np.float32(1), 0)}
    values |= {name: Affine(scale, zero) for name, scale, zero in zip("aby", scales, (7, -21, -3), strict=True)}
    return Quantized(graph, values, layers, RUNTIME)


@needs_litert
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
@pytest.mark.parametrize("ratios", [(0.5, 0.5), (0.731, 0.377)])
def test_every_pair_of_integers_has_the_result_of_the_kernel_ties_too(tmp_path, op, ratios):
    grid = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))
    x = np.stack(grid, axis=-1).reshape(-1, 1, 1, 2).astype(np.float32)
    artifact = to_litert(_every_pair(op, ratios), tmp_path / "pairs.tflite", batch=4096)
    found = artifact.open()(x)
    np.testing.assert_array_equal(found, jax.jit(simulate(artifact.network))(x))


@needs_litert
@pytest.mark.parametrize("ratio", [0.5, 0.5714286])
def test_means_that_are_ties_have_the_result_of_the_kernel(rng, tmp_path, ratio):
    graph = Graph((Node("y", "mean", ("x",), {}, {"axes": (1, 2)}),), "x", "y", (3, 4, 64))
    scale = np.float32(0.0437)
    values = {"x": Affine(scale, 11), "y": Affine(scale * np.float32(ratio), -7)}
    x = (rng.integers(-41, 20, (512, *graph.shape)) * scale).astype(np.float32)
    artifact = to_litert(Quantized(graph, values, {}, RUNTIME), tmp_path / "mean.tflite", batch=64)
    np.testing.assert_array_equal(artifact.open()(x), jax.jit(simulate(artifact.network))(x))


def _everything(x):
    """One network with most operations, whose layers must be found for what they are."""
    x = jnp.clip(conv(x, weights(3, 3, 6, 12), strides=(2, 2)) + weights(12)[None, None, None], 0.0, 6.0)
    x = jax.nn.relu(conv(x, weights(3, 3, 1, 12), feature_group_count=12))
    x = x * jax.nn.sigmoid(jnp.mean(x, axis=(1, 2)) @ weights(12, 12))[:, None, None]
    x = jnp.concatenate(
        [
            nnx.max_pool(x, (2, 2), strides=(2, 2), padding=((1, 1), (1, 0))),
            jnp.tanh(networks.average(x, (2, 2), (2, 2))),
        ],
        axis=-1,
    )
    return jnp.mean(x, axis=(1, 2)) @ weights(24, 5)


@needs_litert
def test_a_float_file_keeps_the_form_of_its_layers(rng, tmp_path):
    graph = trace(_everything, jax.ShapeDtypeStruct((1, *PICTURES), jnp.float32))
    x = inputs(rng, PICTURES)
    artifact = to_litert(graph, tmp_path / "float.tflite", batch=5)
    with artifact.open() as session:
        np.testing.assert_allclose(session(x), jax.jit(graph)(x), rtol=1e-5, atol=1e-5)
    found = artifact.coverage()
    wanted = {"CONV_2D": 1, "DEPTHWISE_CONV_2D": 1, "LOGISTIC": 1, "MEAN": 2, "TANH": 1, "CONCATENATION": 1}
    wanted |= {"FULLY_CONNECTED": 2, "MAX_POOL_2D": 1, "AVERAGE_POOL_2D": 1, "MUL": 1, "PAD": 1, "PADV2": 1}
    assert {name: count["float"] for name, count in found.items() if name != "RESHAPE"} == wanted


@needs_litert
def test_the_file_has_the_integers_and_scales_of_the_network(rng, tmp_path):
    """Read by the interpreter of LiteRT; biases beyond the 24 bits of float32 among them."""
    graph = gated_block()
    x = inputs(rng, graph.shape)
    q = min_max(graph, x, RUNTIME)
    layers = {name: layer._replace(bias=_large(rng, layer.bias)) for name, layer in q.layers.items()}
    q = dataclasses.replace(q, layers=layers)
    artifact = to_litert(q, tmp_path / "block.tflite")
    _in_environment(READ, artifact.path, tmp_path / "read.npz")
    read = dict(np.load(tmp_path / "read.npz"))
    tensors = {key.rpartition(" ")[0]: key for key in read if key.endswith("value")}
    for node in graph.nodes:
        if node.name in q.layers:
            _found(read, tensors, q, node)
    held = {(s.item(), read[f"{k[:-6]} zero"].item()) for k, s in read.items() if k.endswith("scale") and s.size == 1}
    assert {(float(at.scale), at.zero_point) for at in q.values.values()} <= held
    assert artifact.verify(x).exact == 1


def _large(rng, bias):
    return rng.integers(2**27, 2**28, bias.shape).astype(np.int32) * rng.choice([-1, 1], bias.shape).astype(np.int32)


def _found(read, tensors, q, node):
    """Asserts that the kernel, the bias and their scales are among the tensors that were read."""
    layer, at = q.layers[node.name], q.values[node.inputs[0]]
    kernel, scale = np.asarray(layer.kernel.values()), np.ravel(layer.kernel.scale)
    depthwise = node.op == "conv" and node.settings["groups"] > 1
    kernel = kernel.reshape(1, *kernel.shape[:2], -1) if depthwise else np.moveaxis(kernel, -1, 0)
    for values, scales, kind in ((kernel, scale, "int8"), (layer.bias, scale * at.scale, "int32")):
        same = [
            place
            for place, key in tensors.items()
            if place.endswith(kind) and np.array_equal(read[key], values)
            if np.array_equal(read[f"{place} scale"], scales) and not read[f"{place} zero"].any()
        ]
        assert len(same) == 1, f"{kind} of {node.name}"


@needs_litert
def test_a_block_with_gates_is_exact_and_in_integers_but_for_its_hard_sigmoids(rng, tmp_path):
    graph = gated_block()
    x = inputs(rng, graph.shape, 40)
    artifact = to_litert(min_max(graph, x, RUNTIME), tmp_path / "block.tflite")
    assert artifact.verify(x) == artifact.verify(x, threads=2) == (1.0, 0.0, 1.0, 40)
    floating = {name: count["float"] for name, count in artifact.coverage().items() if count["float"]}
    # Three hard sigmoids, each a sum and a product between integers; and the input and the output.
    assert floating == {"QUANTIZE": 4, "DEQUANTIZE": 4, "ADD": 3, "MUL": 3}
    timing = artifact.bench(seconds=0.01, batch=3)
    assert 0 < timing.low <= timing.median <= timing.high


@needs_litert
def test_layers_left_in_float_and_integers_for_weights_alone(rng, tmp_path):
    graph = graph_of("gate")
    x = inputs(rng, PICTURES)
    whole = min_max(graph, x, RUNTIME)
    real = {node.name: layer_of(node, np.float32(1), "float32") for node in graph.nodes if node.name in whole.layers}
    weights_only = dataclasses.replace(whole, values={}, layers=real)
    part = dataclasses.replace(whole, values={k: v for k, v in whole.values.items() if k != graph.output}, layers={})
    for q in (weights_only, part):
        agreement = to_litert(q, tmp_path / "mixed.tflite", batch=8).verify(x)
        assert agreement.largest < 1e-5
    assert not any(count["integer"] for count in to_litert(weights_only, tmp_path / "w.tflite").coverage().values())


@pytest.mark.slow
@needs_litert
def test_a_published_network_on_pictures_is_exact_on_every_logit(tmp_path):
    graph, x = lite0(), crops(48, 0)
    q = post_training(graph, [x[:16]], target=RUNTIME, ranges="minmax")
    wanted = in_rows(jax.jit(simulate(q)), x[16:])
    artifact = to_litert(q, tmp_path / "lite0.tflite")
    for threads in (1, 2):
        with artifact.open(threads=threads) as session:
            np.testing.assert_array_equal(session(x[16:]), wanted)
    found = artifact.coverage()
    assert {name for name, count in found.items() if count["float"]} == {"QUANTIZE", "DEQUANTIZE"}
    assert (found["CONV_2D"]["integer"], found["DEPTHWISE_CONV_2D"]["integer"], found["ADD"]["integer"]) == (33, 16, 9)
    assert artifact.size < 0.3 * sum(w.nbytes for node in graph.nodes for w in node.weights.values())


def test_wrong_requests_are_refused(rng, tmp_path):
    graph, path = graph_of("dense on rows"), tmp_path / "file.tflite"
    x = inputs(rng, PICTURES)
    with pytest.raises(ValueError, match="for 'onnxruntime'; quantize it for target"):
        to_litert(min_max(graph, x, target("onnxruntime")), path, python="python")
    with pytest.raises(ValueError, match="batch must be at least 1, got 0"):
        to_litert(graph, path, batch=0, python="python")
    q = min_max(graph, x, RUNTIME)
    zero = dataclasses.replace(q, values={**q.values, graph.output: Affine(np.float32(0), 0)})
    with pytest.raises(ValueError, match=f"{graph.output} has the scale 0.0"):
        to_litert(zero, path, python="python")
