"""Files for XLA run without the network, keep small integers small, and compute the same."""

import dataclasses
import subprocess
import sys

import jax
import numpy as np
import pytest

from jaxkit.compress import Graph, Layer, Node, Quantized, quantize_array, target
from jaxkit.export.xla import to_xla
from tests.export.networks import PICTURES, gated_block, graph_of, inputs, layer_of, min_max

LOADED = """
import sys, numpy as np
from jax import export
exported = export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
np.save(sys.argv[3], exported.call(np.load(sys.argv[2])))
assert not [name for name in sys.modules if name.startswith(("jaxkit", "flax"))]
"""


def _wide(rng, size=96):
    """A network whose file is mostly weights."""
    weights = {"kernel": rng.normal(size=(size, size)).astype(np.float32), "bias": np.zeros(size, np.float32)}
    return Graph((Node("dense", "dense", ("input",), weights, {}),), "input", "dense", (size,))


@pytest.mark.parametrize("name, batch", [("depthwise conv", None), ("gate", 5)])
def test_the_simulator_in_a_file_is_exact_for_any_number_of_examples(rng, tmp_path, name, batch):
    graph = graph_of(name)
    x = inputs(rng, graph.shape, 12)
    q = min_max(graph, x, target("xla"))
    artifact = to_xla(q, tmp_path / "network.xla", batch=batch)
    assert artifact.verify(x) == (1.0, 0.0, 1.0, 12)
    session = artifact.open()
    np.testing.assert_array_equal(session(x[:3]), session(x)[:3])


def test_a_file_needs_jax_alone(rng, tmp_path):
    graph = gated_block()
    x = inputs(rng, graph.shape, 3)
    path = to_xla(graph, tmp_path / "network.xla").path
    np.save(tmp_path / "x.npy", x)
    command = [sys.executable, "-I", "-c", LOADED, path, tmp_path / "x.npy", tmp_path / "y.npy"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), jax.jit(graph)(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "form, bits, share", [("float", 32, 1.3), ("simulator", 8, 0.5), ("weights", 8, 0.5), ("weights", 4, 0.3)]
)
def test_integers_are_stored_as_they_are(rng, tmp_path, form, bits, share):
    graph = _wide(rng)
    x = inputs(rng, graph.shape, 7)
    network = {"float": graph, "simulator": min_max(graph, x, target("xla"))}.get(form)
    if network is None:
        node = graph.nodes[0]
        kernel = quantize_array(node.weights["kernel"], bits=bits, channel=1)
        network = Quantized(graph, {}, {"dense": Layer(kernel, node.weights["bias"])}, target("xla"))
    artifact = to_xla(network, tmp_path / "network.xla")
    assert artifact.size < share * graph.nodes[0].weights["kernel"].nbytes
    assert artifact.verify(x).largest < 1e-5
    assert artifact.coverage()["dot_general"] == {"integer": 0, "float": 1}


def test_weights_alone_in_integers_leave_values_real(rng, tmp_path):
    graph = graph_of("depthwise conv")
    x = inputs(rng, PICTURES, 4)
    q = min_max(graph, x, target("xla"))
    layers = {n.name: layer_of(n, np.float32(1), "float32") for n in graph.nodes if n.name in q.layers}
    artifact = to_xla(dataclasses.replace(q, values={}, layers=layers), tmp_path / "network.xla")
    assert artifact.verify(x).largest < 1e-5


def test_one_file_serves_several_platforms(rng, tmp_path):
    graph = graph_of("depthwise conv")
    artifact = to_xla(graph, tmp_path / "network.xla", platforms=("cpu", "cuda", "tpu"))
    assert jax.export.deserialize(bytearray(artifact.path.read_bytes())).platforms == ("cpu", "cuda", "tpu")
    assert artifact.verify(inputs(rng, PICTURES, 4)).largest < 1e-5
    # The convolution of XLA for accelerators, which the CPU does not take.
    assert artifact.coverage()["convolution"]["float"] and "convolution" not in to_xla(graph, artifact.path).coverage()


def test_wrong_requests_are_refused(tmp_path):
    with pytest.raises(ValueError, match="gpu"):
        to_xla(graph_of("add"), tmp_path / "network.xla", platforms=("gpu",))
    with pytest.raises(ValueError, match="batch must be at least 1, or None for any number, got 0"):
        to_xla(graph_of("add"), tmp_path / "network.xla", batch=0)
