"""Networks in integers without training: close to float, by the rules of every target."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from jaxkit.compress import Graph, Node, target, trace
from jaxkit.compress.calibrate import observed
from jaxkit.compress.histogram import empty, observe
from jaxkit.compress.post_training import post_training
from jaxkit.compress.rounding import affine
from jaxkit.compress.search import range_of
from jaxkit.compress.simulate import simulate
from jaxkit.nn import InvertedResidual

DENSE = {"kernel": np.float32(np.eye(4)), "bias": np.zeros(4, np.float32)}


@pytest.fixture(scope="module")
def block():
    settings = {"hidden": 16, "squeeze": 4, "activation": jax.nn.hard_swish, "gate": jax.nn.hard_sigmoid}
    module = InvertedResidual(8, 8, **settings, rngs=nnx.Rngs(0))
    module.eval()
    return trace(module, jax.ShapeDtypeStruct((1, 6, 5, 8), jnp.float32))


def _noise(graph, q, x):
    """Signal to noise of the simulated network, in dB."""
    wanted = jax.jit(graph)(x)
    return 10 * np.log10(np.square(wanted).sum() / np.square(jax.jit(simulate(q))(x) - wanted).sum())


@pytest.mark.parametrize("name", ["onnxruntime", "litert", "tensorrt"])
def test_a_block_with_gates_stays_close_for_every_target(block, rng, name):
    x = rng.normal(size=(12, 6, 5, 8)).astype(np.float32)
    q = post_training(block, [x[:8], x[8:]], target=target(name))
    assert _noise(block, q, x) > 33
    assert q.values.keys() == {block.input, *(node.name for node in block.nodes)}
    info = np.iinfo(q.target.activations)
    for at in q.values.values():
        assert at.scale.dtype == np.float32 and info.min <= at.zero_point <= info.max
        assert at.zero_point == 0 or not q.target.symmetric
    kinds = {layer.bias.dtype for layer in q.layers.values()}
    assert kinds == {np.dtype("float32" if name == "tensorrt" else "int32")}


@pytest.mark.parametrize("correction", [True, False])
@pytest.mark.parametrize("name", ["onnxruntime", "litert"])
def test_compensated_weights_are_closer_than_nearest_ones(rng, name, correction):
    weights = {"kernel": rng.normal(size=(24, 16)).astype(np.float32), "bias": np.ones(16, np.float32)}
    graph = Graph((Node("layer", "dense", ("input",), weights),), "input", "layer", (5, 24))
    x = ((rng.normal(size=(80, 5, 6)) + 1) @ rng.normal(size=(6, 24))).astype(np.float32)
    seen, off = observed(graph, [x[:40]], bins=512), []
    for rounding in ("compensated", "nearest"):
        q = post_training(graph, seen, target=target(name), rounding=rounding, bias_correction=correction)
        kernel = np.asarray(q.layers["layer"].kernel.dequantize()) - weights["kernel"]
        off.append(np.square(x[40:] @ kernel + q.graph.nodes[0].weights["bias"] - 1).sum())
    assert off[0] < 0.5 * off[1]


@pytest.mark.parametrize("weights", ["channel", "tensor"])
def test_one_example_is_enough_and_layers_on_real_inputs_have_integers_too(block, rng, weights):
    x = rng.normal(size=(1, 6, 5, 8)).astype(np.float32)
    real = [node.name for node in block.nodes if node.op != "conv"]
    for exclude in ((), real):
        q = post_training(block, [x], target=target("onnxruntime"), weights=weights, exclude=exclude)
        assert _noise(block, q, x) > 25
        floats = [name for name, layer in q.layers.items() if layer.bias.dtype == np.float32]
        assert bool(floats) == bool(exclude)


@pytest.mark.parametrize("ranges, weights", [("minmax", "tensor"), ("percentile", "channel"), ("entropy", "tensor")])
def test_every_way_to_choose_ranges_and_weights_stays_close(block, rng, ranges, weights):
    x = rng.normal(size=(12, 6, 5, 8)).astype(np.float32)
    q = post_training(block, lambda: iter([x]), target=target("xla"), ranges=ranges, weights=weights, bins=512)
    assert _noise(block, q, x) > 25


@pytest.mark.parametrize("ranges", ["minmax", "percentile", "entropy", "mse"])
def test_ranges_follow_the_histograms_except_of_the_input(rng, ranges):
    graph = Graph((Node("layer", "dense", ("input",), DENSE),), "input", "layer", (4,))
    x = rng.standard_t(3, size=(3000, 4)).astype(np.float32)
    settings = {"target": target("litert"), "ranges": ranges, "percentile": 99.0}
    q = post_training(graph, [x[:1000], x[1000:]], bins=1024, **settings)
    ends = range_of(observe(empty(1024), x), **settings)
    assert q.values["layer"] == affine(*ends, target=q.target)
    assert q.values["input"] == affine(x.min(), x.max(), target=q.target)
    assert (q.values["layer"] == q.values["input"]) == (ranges == "minmax")


def test_corrected_biases_bring_the_mean_back(block, rng):
    x = (rng.normal(size=(64, 6, 5, 8)) + 2).astype(np.float32)
    off = []
    for correction in (True, False):
        settings = {"bias_correction": correction, "weights": "tensor", "ranges": "minmax"}
        q = post_training(block, [x], target=target("onnxruntime"), rounding="nearest", **settings)
        off.append(np.square(jnp.mean(jax.jit(simulate(q))(x) - jax.jit(block)(x), axis=(0, 1, 2))).sum())
        assert (q.graph is block) == (not correction)
    assert off[0] < 0.7 * off[1]


def test_values_that_pass_unchanged_keep_their_integers(rng):
    pool = {"window": (2, 2), "strides": (2, 2), "pads": ((0, 0), (0, 0))}
    nodes = (
        Node("scaled", "affine", ("input",), {"scale": np.float32(-2), "shift": np.float32(1)}),
        Node("relu", "clip", ("scaled",), {}, {"low": 0.0, "high": 3.0}),
        Node("pooled", "max_pool", ("relu",), {}, pool),
        Node("flat", "reshape", ("pooled",), {}, {"shape": (16,)}),
        Node("gate", "sigmoid", ("flat",)),
        Node("bend", "tanh", ("flat",)),
        Node("both", "concat", ("gate", "bend"), {}, {"axis": 1}),
    )
    graph = Graph(nodes, "input", "both", (4, 4, 4))
    x = 3 * rng.normal(size=(9, 4, 4, 4)).astype(np.float32)
    for name in ("litert", "onnxruntime"):
        q = post_training(graph, [x], target=target(name))
        # The clip is what the saturation of integers does.
        assert q.values["scaled"] == q.values["relu"] == q.values["pooled"] == q.values["flat"]
        np.testing.assert_allclose(q.values["relu"].scale, 3 / 255, rtol=0.02)
        assert _noise(graph, q, x) > 35
    fixed = post_training(graph, [x], target=target("litert")).values
    assert fixed["gate"] == (np.float32(1 / 256), -128) and fixed["bend"] == (np.float32(1 / 128), 0)


def test_excluded_nodes_run_in_float(block, rng):
    x = rng.normal(size=(8, 6, 5, 8)).astype(np.float32)
    layers = [node.name for node in block.nodes if node.op == "conv"]
    first = post_training(block, [x], target=target("onnxruntime"), exclude=[layers[0], block.output])
    assert layers[0] not in first.layers and layers[0] in first.values and layers[1] in first.layers
    assert block.output not in first.values
    everything = [node.name for node in block.nodes]
    float_alone = post_training(block, [x], target=target("onnxruntime"), exclude=everything)
    assert not float_alone.layers and block.output not in float_alone.values
    assert _noise(block, first, x) > 33


def test_several_settings_share_one_walk(rng):
    graph = Graph((Node("layer", "dense", ("input",), DENSE),), "input", "layer", (4,))
    batches = [rng.normal(size=(50, 4)).astype(np.float32) for _ in range(3)]
    seen = observed(graph, batches, bins=512)
    for ranges in ("minmax", "percentile", "mse"):
        settings = {"target": target("xla"), "ranges": ranges, "bins": 512}
        one, other = (post_training(graph, x, **settings) for x in (seen, batches))
        assert dict(one.values) == dict(other.values)
        np.testing.assert_array_equal(one.layers["layer"].bias, other.layers["layer"].bias)
    for wrong, message in (
        ({"batches": seen, "equalize": True}, "not equalised yet"),
        ({"batches": observed(graph, batches)}, "need histograms"),
        ({"batches": observed(graph, batches, bins=512, moments=False)}, "needs moments"),
        ({"batches": seen._replace(ends={"input": (0.0, 1.0)})}, "another graph"),
    ):
        with pytest.raises(ValueError, match=message):
            post_training(graph, target=target("xla"), **wrong)


def test_a_network_of_zeros_gives_zeros():
    weights = {"kernel": np.zeros((4, 4), np.float32), "bias": np.zeros(4, np.float32)}
    graph = Graph((Node("layer", "dense", ("input",), weights),), "input", "layer", (4,))
    for name in ("onnxruntime", "litert", "tensorrt"):
        q = post_training(graph, [np.zeros((3, 4), np.float32)], target=target(name))
        np.testing.assert_array_equal(jax.jit(simulate(q))(jnp.ones((2, 4))), np.zeros((2, 4)))


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"ranges": "max"}, "ranges must be one of"),
        ({"weights": "row"}, "weights must be one of"),
        ({"rounding": "up"}, "rounding must be one of"),
        ({"percentile": 0.9999}, "percentile must be in"),
        ({"bins": 10}, "bins must be"),
        ({"equalize": 1}, "equalize must be True or False"),
        ({"bias_correction": "yes"}, "bias_correction must be True or False"),
        ({"exclude": ["layer", "gone"]}, r"not there: \['gone'\]"),
        ({"exclude": "layer"}, "exclude must be names"),
    ],
)
def test_wrong_recipes_are_refused_before_any_batch_is_read(wrong, message):
    graph = Graph((Node("layer", "dense", ("input",), DENSE),), "input", "layer", (4,))

    def batches():
        raise AssertionError("read")

    with pytest.raises(ValueError, match=message):
        post_training(graph, batches, target=target("xla"), **wrong)
