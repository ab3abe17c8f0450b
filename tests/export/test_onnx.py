"""ONNX files compute what the graphs compute, in float to rounding and in integers to the last bit."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
from flax import nnx
from onnx.reference import ReferenceEvaluator

from jaxkit.compress import Graph, Layer, Node, Quantized, quantize_array, target, trace
from jaxkit.compress.simulate import simulate
from jaxkit.export.onnx import to_onnx
from tests.export.networks import CLOSE, EXACT, PICTURES, gated_block, graph_of, inputs, layer_of, min_max

RUNTIME = target("onnxruntime")


@pytest.mark.parametrize("name", [*EXACT, *CLOSE])
def test_every_operation_in_float_and_in_integers(rng, tmp_path, name):
    graph, x = graph_of(name), inputs(rng, PICTURES)
    found = to_onnx(graph, tmp_path / "float.onnx").open()(x)
    np.testing.assert_allclose(found, jax.jit(graph)(x), rtol=1e-5, atol=1e-5)
    agreement = to_onnx(min_max(graph, x, RUNTIME), tmp_path / "integers.onnx").verify(x)
    if name in EXACT:
        assert agreement.exact == 1
    else:
        assert agreement.exact > 0.999 and agreement.largest < 1.5


def test_a_block_with_gates_runs_in_integers_but_for_its_hard_sigmoids(rng, tmp_path):
    graph = gated_block()
    x = inputs(rng, graph.shape, 40)
    artifact = to_onnx(min_max(graph, x, RUNTIME), tmp_path / "block.onnx")
    assert artifact.verify(x) == (1.0, 0.0, 1.0, 40)
    assert {op for op, count in artifact.coverage().items() if count["float"]} == {"HardSigmoid"}


@pytest.mark.parametrize("opset", [18, 22])
def test_files_of_other_opsets_compute_the_same(rng, tmp_path, opset):
    graph = gated_block()
    x = inputs(rng, graph.shape, 4)
    q = min_max(graph, x, RUNTIME)
    artifact = to_onnx(q, tmp_path / "block.onnx", opset=opset)
    assert onnx.load(artifact.path).opset_import[0].version == opset
    assert artifact.verify(x).exact == 1


def test_the_reference_of_onnx_reads_the_file_as_the_simulator_computes(rng, tmp_path):
    graph = graph_of("add and clip")
    x = inputs(rng, PICTURES, 2)
    q = min_max(graph, x, target("openvino"))
    path = to_onnx(q, tmp_path / "add.onnx").path
    found = ReferenceEvaluator(str(path)).run(None, {"input": x})[0]
    scale = q.values[graph.output].scale
    steps = np.abs(found - np.asarray(jax.jit(simulate(q))(x))) / scale
    assert steps.max() < 1.5 and np.mean(steps < 0.5) > 0.99


def test_the_same_network_gives_the_same_bytes_for_any_number_of_examples(rng, tmp_path):
    graph = gated_block()
    q = min_max(graph, inputs(rng, graph.shape), RUNTIME)
    first, second = (to_onnx(q, tmp_path / f"{i}.onnx").path for i in range(2))
    assert first.read_bytes() == second.read_bytes()
    model = onnx.load(first)
    ends = [value.type.tensor_type.shape.dim for value in (*model.graph.input, *model.graph.output)]
    assert [dims[0].dim_param for dims in ends] == ["N", "N"]
    assert [d.dim_value for d in ends[0][1:]] == list(graph.shape)
    assert not model.doc_string and not model.graph.doc_string and str(tmp_path) not in str(model)


def test_the_symmetric_profile_has_zero_points_of_zero_and_integers_on_both_sides_of_sums(rng, tmp_path):
    graph = graph_of("add and clip")
    q = min_max(graph, inputs(rng, PICTURES), target("tensorrt"))
    model = onnx.load(to_onnx(q, tmp_path / "add.onnx").path).graph
    constants = {value.name: onnx.numpy_helper.to_array(value) for value in model.initializer}
    makers = {node.output[0]: node for node in model.node}
    points = [constants[node.input[2]] for node in model.node if node.op_type == "QuantizeLinear"]
    assert len(points) == 3 and all(point.dtype == np.int8 and point == 0 for point in points)
    (add,) = (node for node in model.node if node.op_type == "Add")
    assert [makers[name].op_type for name in add.input] == ["DequantizeLinear", "DequantizeLinear"]
    (conv,) = (node for node in model.node if node.op_type == "Conv")
    assert constants[conv.input[2]].dtype == np.float32
    assert [node.op_type for node in model.node if add.output[0] in node.input] == ["Clip"]


def _weight_only(graph, **settings):
    layers = {}
    for node in graph.nodes:
        if node.op in ("conv", "dense"):
            layers[node.name] = Layer(
                quantize_array(jnp.asarray(node.weights["kernel"]), **settings), node.weights["bias"]
            )
    return Quantized(graph, {}, layers, RUNTIME)


WEIGHTS = {
    "channels": ({"channel": -1}, 20),
    "tensor": ({}, 20),
    "four bits": ({"bits": 4, "channel": -1}, 21),
    "groups": ({"channel": -1, "group": (0, 48)}, 21),
    "groups of four bits": ({"bits": 4, "channel": -1, "group": (0, 16)}, 21),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_small_weights_alone(rng, tmp_path, name):
    settings, opset = WEIGHTS[name]
    graph = graph_of("flatten")
    x = inputs(rng, PICTURES)
    q = _weight_only(graph, **settings)
    artifact = to_onnx(q, tmp_path / "small.onnx")
    assert onnx.load(artifact.path).opset_import[0].version == opset
    np.testing.assert_allclose(artifact.open()(x), jax.jit(simulate(q))(x), rtol=1e-4, atol=1e-4)
    share = artifact.size / to_onnx(graph, tmp_path / "float.onnx").size
    assert share < (0.28 if settings.get("bits") == 4 else 0.4)


def test_small_weights_of_convolutions_alone(rng, tmp_path):
    graph = graph_of("depthwise conv")
    x = inputs(rng, PICTURES)
    q = _weight_only(graph, channel=-1)
    found = to_onnx(q, tmp_path / "small.onnx").open()(x)
    np.testing.assert_allclose(found, jax.jit(simulate(q))(x), rtol=1e-5, atol=1e-5)


def test_four_bits_run_on_integers_too(rng, tmp_path):
    graph = graph_of("conv")
    x = inputs(rng, PICTURES)
    q = min_max(graph, x, RUNTIME)
    (node,) = graph.nodes
    kernel = quantize_array(jnp.asarray(node.weights["kernel"]), bits=4, channel=-1)
    layer = Layer(kernel, layer_of(node, q.values["input"].scale).bias)
    artifact = to_onnx(dataclasses.replace(q, layers={node.name: layer}), tmp_path / "small.onnx")
    assert artifact.coverage()["Conv"] == {"integer": 1, "float": 0}
    assert artifact.verify(x).exact == 1


def test_layers_that_are_left_out_run_in_float(rng, tmp_path):
    graph = graph_of("add")
    x = inputs(rng, PICTURES)
    q = min_max(graph, x, RUNTIME)
    (conv,) = (node for node in graph.nodes if node.op == "conv")
    values = {name: at for name, at in q.values.items() if name != conv.name}
    mixed = dataclasses.replace(q, values=values, layers={})
    artifact = to_onnx(mixed, tmp_path / "mixed.onnx")
    assert artifact.coverage()["Conv"] == {"integer": 0, "float": 1}
    assert artifact.verify(x).largest < 1.5


def test_a_clip_within_the_integers_is_kept(rng, tmp_path):
    graph = graph_of("depthwise conv")
    x = inputs(rng, PICTURES)
    q = min_max(graph, x, RUNTIME)
    wider = q.values[graph.output]._replace(scale=np.float32(q.values[graph.output].scale * 2))
    q = dataclasses.replace(q, values={**q.values, graph.output: wider})
    found = to_onnx(q, tmp_path / "clip.onnx").open()(x)
    np.testing.assert_array_equal(found, jax.jit(simulate(q))(x))
    assert found.max() < 6 + wider.scale / 2


def test_what_cannot_be_written_is_refused(tmp_path):
    path = tmp_path / "network.onnx"
    with pytest.raises(ValueError, match="opset must be one of"):
        to_onnx(graph_of("add"), path, opset=17)
    with pytest.raises(ValueError, match="'sort', which no graph knows"):
        to_onnx(Graph((Node("sorted", "sort", ("input",)),), "input", "sorted", (3,)), path)
    line = trace(lambda x: nnx.max_pool(x, (2,)), jax.ShapeDtypeStruct((1, 8, 3), jnp.float32))
    with pytest.raises(ValueError, match="only pictures"):
        to_onnx(line, path)
    graph = graph_of("conv")
    (node,) = graph.nodes
    blocks = quantize_array(jnp.asarray(node.weights["kernel"]), channel=0, group=(1, 1))
    layers = {node.name: Layer(blocks, node.weights["bias"])}
    with pytest.raises(ValueError, match="blocks along one axis"):
        to_onnx(Quantized(graph, {}, layers, RUNTIME), path)
    assert not path.exists()
