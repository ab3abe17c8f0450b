"""Reports of quantized networks, against plain NumPy and the simulator itself."""

import dataclasses
import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from jaxkit.compress import Affine, Layer, QArray, target, trace, weak_spots
from jaxkit.compress.post_training import post_training
from jaxkit.compress.report import report
from jaxkit.compress.sensitivity import switchable, switched
from jaxkit.compress.simulate import simulate, simulate_values

LAYOUT = ("NHWC", "HWIO", "NHWC")
SHAPE = (6, 6, 3)


def weights(*shape, seed):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32) / 3


def network(x):
    x = jax.lax.conv_general_dilated(x, weights(3, 3, 3, 8, seed=0), (1, 1), "SAME", dimension_numbers=LAYOUT)
    x = jnp.clip(x, 0.0, 6.0)
    y = jax.lax.conv_general_dilated(x, weights(1, 1, 8, 8, seed=1), (1, 1), "SAME", dimension_numbers=LAYOUT)
    return jnp.mean(x + y, axis=(1, 2)) @ weights(8, 5, seed=2) + weights(5, seed=3)[None]


@pytest.fixture(scope="module")
def graph():
    return trace(network, jax.ShapeDtypeStruct((1, *SHAPE), jnp.float32))


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(5).normal(size=(11, *SHAPE)).astype(np.float32)


@pytest.fixture(scope="module")
def q(graph, x):
    return post_training(graph, [x], target=target("onnxruntime"))


@pytest.fixture(scope="module")
def found(q, graph, x):
    return report(q, [x[:4], x[4:8], x[8:]], np.arange(11) % 5, reference=graph, probed=3)


def named(found):
    return {layer.name: layer for layer in found.layers}


def decibels(wanted, got):
    wanted, got = np.asarray(wanted, np.float64), np.asarray(got, np.float64)
    return 10 * math.log10((wanted**2).sum() / ((wanted - got) ** 2).sum())


def test_ratios_and_cosines_are_those_of_numpy(q, graph, x, found):
    plain, rounded = jax.jit(graph.values)(x), jax.jit(simulate_values(q))(x)
    for name, layer in named(found).items():
        a, b = np.asarray(plain[name], np.float64).ravel(), np.asarray(rounded[name], np.float64).ravel()
        assert layer.sqnr == pytest.approx(decibels(a, b), abs=1e-2)
        assert layer.cosine == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-5)
    assert found.sqnr == pytest.approx(decibels(plain[graph.output], rounded[graph.output]), abs=1e-2)


def test_agreement_and_accuracy(q, graph, x, found):
    plain, rounded = (np.asarray(jax.jit(f)(x)).argmax(1) for f in (graph, simulate(q)))
    assert found.top1 == np.mean(plain == rounded)
    assert found.accuracy_float == np.mean(plain == np.arange(11) % 5)
    assert found.accuracy_integers == np.mean(rounded == np.arange(11) % 5)
    assert (found.examples, found.probed) == (11, 3)


def test_switches_lead_from_the_float_network_to_the_simulated_one(q, graph, x):
    run, count = jax.jit(switched(graph, q)), len(switchable(q))
    assert np.array_equal(run(x, np.ones(count, bool)), jax.jit(simulate(q))(x))
    assert np.allclose(run(x, np.zeros(count, bool)), jax.jit(graph)(x), rtol=1e-6, atol=1e-6)


def test_gain_is_what_excluding_the_last_layer_wins(graph, x, found, q):
    one = post_training(graph, [x], target=target("onnxruntime"), exclude=(graph.output,))
    wanted, with_all, without = (np.asarray(jax.jit(f)(x[:3])) for f in (graph, simulate(q), simulate(one)))
    gain = decibels(wanted, without) - decibels(wanted, with_all)
    assert named(found)[graph.output].gain == pytest.approx(gain, abs=1e-3)


def test_alone_is_a_network_with_one_layer_of_integers(q, graph, x, found):
    last = next(node for node in graph.nodes if node.name == graph.output)
    values = {name: q.values[name] for name in (last.inputs[0], last.name)}
    single = dataclasses.replace(q, graph=graph, values=values, layers={last.name: q.layers[last.name]})
    wanted, rounded = (np.asarray(jax.jit(f)(x[:3])) for f in (graph, simulate(single)))
    assert named(found)[graph.output].alone == pytest.approx(decibels(wanted, rounded), abs=1e-3)


@pytest.fixture(scope="module")
def broken(q, graph, x):
    """A network with a first layer of next to no bits and an input that does not fit into its integers."""
    conv = next(node for node in graph.nodes if node.op == "conv")
    layer = q.layers[conv.name]
    coarse = np.round(np.asarray(layer.kernel.stored) / 64).astype(np.int8) * 64
    layers = {**q.layers, conv.name: Layer(dataclasses.replace(layer.kernel, stored=coarse), layer.bias)}
    values = {**q.values, q.graph.input: Affine(np.float32(0.01), 128)}
    return conv.name, dataclasses.replace(q, layers=layers, values=values)


def test_a_bad_layer_is_named_first_and_a_narrow_range_counted_by_two_programs(broken, graph, x, programs):
    conv, q = broken
    before = len(programs)
    found = report(q, [x], reference=graph)
    assert programs[before:].count("jit(run)") == 2, programs[before:]
    assert max(found.layers, key=lambda one: one.gain or 0).name == conv
    assert found.layers[0].op == "input" and found.layers[0].outside == np.mean((x < -1.285) | (x > 1.275))
    text = found.text()
    assert f"exclude=({conv!r},) would gain" in text and "of input is beyond its range" in text
    assert text[text.index("SQNR") :].splitlines()[2].split()[0] == conv


def test_channels_at_risk_dead_and_raised_are_counted(q):
    kernel = np.zeros((8, 5), np.int8)
    kernel[:2, 0], kernel[:2, 1], kernel[2:4, 2] = (127, 2), (127, -127), (-99, -30)
    layer = Layer(QArray(kernel, np.full((1, 5), 0.01, np.float32), (8, 5)), np.array([0, 1, 2, 3, 2**24], np.int32))
    odd = dataclasses.replace(q, layers={"dense": layer})
    assert (weak_spots.saturating(odd, "dense"), weak_spots.dead(layer), weak_spots.raised(layer)) == (2, 2, 1)
    assert weak_spots.saturating(dataclasses.replace(odd, target=target("onnxruntime", isa="vnni")), "dense") == 0
    assert weak_spots.raised(Layer(layer.kernel, np.full(5, 1e9, np.float32))) == 0


def test_excluded_layers_are_islands(graph, x):
    add = next(node.name for node in graph.nodes if node.op == "add")
    q = post_training(graph, [x], target=target("xla"), exclude=(add,))
    found = report(q, [x], reference=graph)
    assert found.islands[add] == "its result is real"
    assert named(found)[add].alone is None and not named(found)[add].integers
    assert f"in float run {add}" in found.text()


def test_an_equalized_network_is_compared_with_the_trained_one(graph, x):
    q = post_training(graph, [x], target=target("onnxruntime"), equalize=True)
    wanted, rounded = (np.asarray(jax.jit(f)(x)) for f in (graph, simulate(q)))
    assert report(q, [x], reference=graph).sqnr == pytest.approx(decibels(wanted, rounded), abs=1e-2)


def test_json_holds_no_nan_and_all_fields(found):
    held = json.loads(found.json(), parse_constant=lambda word: pytest.fail(f"JSON has {word}"))
    assert held["schema"] == 1 and held["layers"][0]["name"] == "input"
    assert set(held) == {"schema", *(field.name for field in dataclasses.fields(found))}


def test_a_network_without_error_has_no_ratio():
    graph = trace(lambda x: jnp.clip(x, 0.0, 4.0), jax.ShapeDtypeStruct((1, 4), jnp.float32))
    x = np.arange(8, dtype=np.float32).reshape(2, 4) / 2
    q = post_training(graph, [x * 255 / 8], target=target("xla"), ranges="minmax")
    exact = dataclasses.replace(q, values={name: Affine(np.float32(0.5), 0) for name in q.values})
    found = report(exact, [x])
    assert found.sqnr is None and found.top1 == 1
    assert "exactly the float output" in found.text()
    assert '"sqnr": null' in found.json()


def test_the_text_shows_as_many_rows_as_asked(found):
    assert f"and {len(found.layers) - 2} more layers" in found.text(rows=2)
    assert "more layers" not in found.text()
    assert all(layer.name in found.text() for layer in found.layers)


def test_the_plot_is_a_picture_with_bars(found, tmp_path):
    found.plot(tmp_path / "report.png")
    with Image.open(tmp_path / "report.png") as file:
        picture = np.asarray(file.convert("RGB"))
    orange = (picture == (0xD9, 0x82, 0x2B)).all(axis=-1)
    assert picture.shape[1] == 1210 and orange.sum() > 500


def test_wrong_calls_say_so(q, graph, x):
    with pytest.raises(ValueError, match="no batch to report on"):
        report(q, [])
    with pytest.raises(ValueError, match="one integer for each of 11"):
        report(q, lambda: iter([x]), [1, 2])
    with pytest.raises(ValueError, match="probed must be at least 1"):
        report(q, [x], probed=0)
    with pytest.raises(ValueError, match="other nodes"):
        report(q, [x], reference=dataclasses.replace(graph, nodes=graph.nodes[:-1]))
    with pytest.raises(ValueError, match="batch 0 is float64"):
        report(q, [x.astype(np.float64)])
