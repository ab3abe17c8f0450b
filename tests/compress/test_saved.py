"""Files of quantized networks: every bit comes back, and what is no such file says so."""

import io
import json
import zipfile

import jax
import numpy as np
import pytest

from jaxkit.compress import Graph, Node, QArray, quantize_array, target
from jaxkit.compress.post_training import post_training
from jaxkit.compress.saved import load_quantized, save_quantized
from jaxkit.compress.simulate import simulate


@pytest.fixture
def q(rng):
    conv = {"strides": (1, 1), "pads": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1, "clip": (0.0, None)}
    weights = {"kernel": np.float32(rng.normal(size=(3, 3, 2, 4))), "bias": np.float32(rng.normal(size=4))}
    dense = {"kernel": np.float32(rng.normal(size=(4, 3))), "bias": np.float32(rng.normal(size=3))}
    affine = {"scale": np.float32(2.0), "shift": np.float32([1.0, 2.0])}
    nodes = (
        Node("scaled", "affine", ("input",), affine),
        Node("conv", "conv", ("scaled",), weights, conv),
        Node("mean", "mean", ("conv",), {}, {"axes": (1, 2)}),
        Node("out", "dense", ("mean",), dense, {"clip": (np.float32(-3.0), 5)}),
    )
    x = rng.normal(size=(4, 6, 5, 2)).astype(np.float32)
    return post_training(Graph(nodes, "input", "out", (6, 5, 2)), [x], target=target("onnxruntime"))


def _assert_same(one, other):
    for a, b in zip(one.graph.nodes, other.graph.nodes, strict=True):
        assert (a.name, a.op, a.inputs, dict(a.settings)) == (b.name, b.op, b.inputs, dict(b.settings))
        jax.tree.map(_assert_same_array, dict(a.weights), dict(b.weights))
    about = [(g.input, g.output, g.shape) for g in (one.graph, other.graph)]
    assert about[0] == about[1] and one.target == other.target and dict(one.values) == dict(other.values)
    jax.tree.map(_assert_same_array, dict(one.layers), dict(other.layers))


def _assert_same_array(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_every_bit_comes_back(q, rng, tmp_path):
    save_quantized(q, tmp_path / "network")
    back = load_quantized(tmp_path / "network")
    _assert_same(q, back)
    assert all(type(at.scale) is np.float32 and type(at.zero_point) is int for at in back.values.values())
    x = rng.normal(size=(3, 6, 5, 2)).astype(np.float32)
    np.testing.assert_array_equal(jax.jit(simulate(q))(x), jax.jit(simulate(back))(x))


def test_four_bits_and_real_values_come_back(q, rng, tmp_path):
    kernel = quantize_array(rng.normal(size=(4, 3)).astype(np.float32), bits=4, channel=1)
    layers = {**q.layers, "out": q.layers["out"]._replace(kernel=kernel, bias=np.ones(3, np.float32))}
    values = {k: v for k, v in q.values.items() if k != "out"}
    changed = type(q)(q.graph, values, layers, q.target)
    save_quantized(changed, tmp_path / "network.npz")
    back = load_quantized(tmp_path / "network.npz")
    _assert_same(changed, back)
    assert isinstance(back.layers["out"].kernel, QArray) and back.layers["out"].kernel.bits == 4


def _with_manifest(path, change):
    with np.load(path) as file:
        arrays = dict(file)
    manifest = json.loads(bytes(arrays["manifest"]))
    arrays["manifest"] = np.frombuffer(json.dumps(change(manifest)).encode(), np.uint8)
    with open(path, "wb") as file:
        np.savez(file, **arrays)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda m: {**m, "version": 2}, "version 2; this reads"),
        (lambda m: {**m, "version": "1"}, "version '1'"),
        (lambda m: {**m, "format": "other"}, "holds 'other'"),
        (lambda m: {k: v for k, v in m.items() if k != "nodes"}, "lacks or misplaces 'nodes'"),
        (lambda m: {**m, "layers": {"gone": {"shape": [1], "bits": 8}}}, "lacks or misplaces 'gone/integers'"),
        (lambda m: {**m, "target": {"colour": 1}}, "broken"),
        (lambda m: {k: v for k, v in m.items() if k != "format"}, "no manifest"),
        (lambda m: [1], "no manifest"),
    ],
)
def test_manifests_that_do_not_fit_are_refused(q, tmp_path, change, message):
    path = tmp_path / "network.npz"
    save_quantized(q, path)
    _with_manifest(path, change)
    with pytest.raises(ValueError, match=message):
        load_quantized(path)


def _pickled():
    file = io.BytesIO()
    np.savez(file, manifest=np.array([{"a": 1}], object))
    return file.getvalue()


def _zipped():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme.txt", "no array")
    return file.getvalue()


@pytest.mark.parametrize("content", [b"", b"ONNX or so", _pickled(), _zipped()], ids=["empty", "text", "pickle", "zip"])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is no quantized network"):
        load_quantized(path)


def test_a_file_cut_short_is_refused(q, tmp_path):
    path = tmp_path / "network.npz"
    save_quantized(q, path)
    whole = path.read_bytes()
    for size in (10, len(whole) // 2, len(whole) - 30):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="is no quantized network"):
            load_quantized(path)


def test_a_damaged_array_is_refused(q, tmp_path):
    path = tmp_path / "network.npz"
    save_quantized(q, path)
    whole = bytearray(path.read_bytes())
    at = whole.find(q.layers["conv"].kernel.stored.tobytes())
    whole[at] ^= 1
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="is no quantized network"):
        load_quantized(path)


def test_a_file_that_is_not_there_and_settings_that_are_no_json(q, tmp_path):
    with pytest.raises(FileNotFoundError):
        load_quantized(tmp_path / "gone.npz")
    odd = q.graph.nodes[0].replace(settings={"function": len})
    graph = Graph((odd, *q.graph.nodes[1:]), "input", "out", q.graph.shape)
    with pytest.raises(ValueError, match="a setting of a node is <built-in function len>"):
        save_quantized(type(q)(graph, q.values, q.layers, q.target), tmp_path / "network.npz")
    assert not (tmp_path / "network.npz").exists()
