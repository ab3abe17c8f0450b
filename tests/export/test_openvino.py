"""OpenVINO reads the same files; its integers are close, not equal, as its arithmetic is its own."""

import sys

import jax
import numpy as np
import pytest

from jaxkit.compress import target
from jaxkit.export.openvino import installed, to_openvino
from tests.export.networks import PICTURES, gated_block, graph_of, inputs, min_max


def test_a_block_with_gates_in_float_and_in_integers(rng, tmp_path):
    graph = gated_block()
    x = inputs(rng, graph.shape, 40)
    found = to_openvino(graph, tmp_path / "float.onnx").open()(x)
    np.testing.assert_allclose(found, jax.jit(graph)(x), rtol=1e-5, atol=1e-5)
    artifact = to_openvino(min_max(graph, x, target("openvino")), tmp_path / "integers.onnx")
    told = artifact.verify(x)
    assert told.exact > 0.9 and told.largest < 2.5
    assert artifact.engine.name == "openvino"


def test_convolutions_and_dense_layers_run_in_integers(rng, tmp_path):
    graph = gated_block()
    x = inputs(rng, graph.shape, 4)
    small = to_openvino(min_max(graph, x, target("openvino")), tmp_path / "integers.onnx").coverage()
    assert (small["Convolution"], small["FullyConnected"]) == ({"integer": 3, "float": 0}, {"integer": 2, "float": 0})
    large = to_openvino(graph, tmp_path / "float.onnx").coverage()
    assert (large["Convolution"], large["FullyConnected"]) == ({"integer": 0, "float": 3}, {"integer": 0, "float": 2})


@pytest.mark.parametrize("name", ["average pool", "max pool", "add and clip", "flatten and back"])
def test_edges_clips_and_orders(rng, tmp_path, name):
    x = inputs(rng, PICTURES, 40)
    told = to_openvino(min_max(graph_of(name), x, target("openvino")), tmp_path / "integers.onnx").verify(x)
    assert told.exact > 0.999


def test_a_missing_runtime_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(ImportError, match=r"openvino: pip install 'jaxkit\[openvino\]'"):
        installed()
    assert sys.modules.get("openvino_telemetry", installed) is not None


def test_the_import_sends_nothing():
    installed()
    assert "openvino_telemetry" not in sys.modules
