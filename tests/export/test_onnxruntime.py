"""ONNX Runtime with its default options, on CPUs that saturate and on those that do not."""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxkit.compress import Affine, Graph, Layer, Node, QArray, Quantized, target
from jaxkit.compress.simulate import simulate
from jaxkit.export.onnx import to_onnx
from jaxkit.export.onnxruntime import open_session
from tests.export.networks import PICTURES, graph_of, inputs, min_max

FOUR = {"strides": (1, 1), "pads": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1}


def _four_products(weight, scale):
    """A convolution that sums four products of the largest input and one weight: 4 * 255 * weight."""
    kernel = np.full((1, 1, 4, 1), weight, np.int8)
    held = QArray(kernel, np.ones((1, 1, 1, 1), np.float32), kernel.shape)
    node = Node("sum", "conv", ("input",), {"kernel": kernel.astype(np.float32), "bias": np.zeros(1, np.float32)}, FOUR)
    graph = Graph((node,), "input", "sum", (1, 1, 4))
    values = {"input": Affine(np.float32(1), 0), "sum": Affine(np.float32(scale), 0)}
    return Quantized(graph, values, {"sum": Layer(held, np.zeros(1, np.int32))}, target("onnxruntime"))


def _adds_pairs_in_16_bits():
    """Whether this CPU has AVX2 but no 8-bit dot products, so that sums of two products saturate."""
    told = Path("/proc/cpuinfo")
    flags = set(told.read_text().split()) if told.exists() else set()
    return "avx2" in flags and not flags & {"avx512_vnni", "avx_vnni", "avx_vnni_int8", "amx_int8"}


def test_weights_of_8_bits_saturate_where_the_cpu_adds_pairs_in_16_bits(tmp_path):
    x = np.full((1, 1, 1, 4), 255, np.float32)
    q = _four_products(127, 1000)
    assert jax.jit(simulate(q))(x).item() == 130_000
    expected = 66_000 if _adds_pairs_in_16_bits() else 130_000
    assert to_onnx(q, tmp_path / "four.onnx").open()(x).item() == expected


def test_safe_weights_are_exact_on_every_cpu(tmp_path):
    x = np.full((1, 1, 1, 4), 255, np.float32)
    q = _four_products(63, 500)
    assert jax.jit(simulate(q))(x).item() == 129 * 500
    assert to_onnx(q, tmp_path / "four.onnx").open()(x).item() == 129 * 500


def test_sums_of_ties_agree_whatever_the_two_scales(rng, tmp_path):
    graph = graph_of("add")
    x = inputs(rng, PICTURES, 64)
    q = min_max(graph, x, target("onnxruntime"))
    first, second = graph.nodes[-1].inputs
    at = q.values[first]
    for ratio in (1.0, 0.5, 0.25, 1.6):
        values = {**q.values, second: Affine(at.scale, 37), graph.output: Affine(np.float32(at.scale * ratio), 101)}
        layers = {second: q.layers[second]}
        agreement = to_onnx(Quantized(graph, values, layers, q.target), tmp_path / "add.onnx").verify(x)
        assert agreement.exact == 1


@pytest.mark.parametrize("window, strides", [((2, 2), (1, 2)), ((3, 1), (2, 1))])
def test_means_under_windows_agree_at_ties(rng, tmp_path, window, strides):
    settings = {"window": window, "strides": strides, "pads": ((1, 0), (0, 1))}
    graph = Graph((Node("mean", "avg_pool", ("input",), {}, settings),), "input", "mean", PICTURES)
    for scale, ratio in ((0.0371, 1.0), (0.1, 0.5)):
        at = Affine(np.float32(scale), 113)
        values = {"input": at, "mean": Affine(np.float32(scale * ratio), 99)}
        x = (rng.integers(-113, 143, (16, *PICTURES)) * at.scale).astype(np.float32)
        artifact = to_onnx(Quantized(graph, values, {}, target("onnxruntime")), tmp_path / "mean.onnx")
        assert artifact.verify(x).exact == 1


def test_hard_sigmoids_agree_at_ties(tmp_path):
    graph = Graph((Node("gate", "hard_sigmoid", ("input",)),), "input", "gate", (256,))
    for scale, result in ((6 / 255, 1 / 255), (3 / 256, 1 / 256), (12 / 255, 1 / 255), (1.5 / 256, 1 / 128)):
        values = {"input": Affine(np.float32(scale), 130), "gate": Affine(np.float32(result), 0)}
        x = (np.arange(-130, 126)[None] * values["input"].scale).astype(np.float32)
        artifact = to_onnx(Quantized(graph, values, {}, target("onnxruntime")), tmp_path / "gate.onnx")
        assert artifact.verify(x).exact == 1


def test_the_result_does_not_depend_on_the_threads(rng, tmp_path):
    x = inputs(rng, PICTURES, 16)
    artifact = to_onnx(min_max(graph_of("conv"), x, target("onnxruntime")), tmp_path / "conv.onnx")
    assert artifact.verify(x, threads=2).exact == 1


def test_coverage_counts_what_was_left_in_float(rng, tmp_path):
    graph = graph_of("sub")
    artifact = to_onnx(min_max(graph, inputs(rng, PICTURES), target("onnxruntime")), tmp_path / "sub.onnx")
    assert artifact.coverage() == {"Tanh": {"integer": 0, "float": 1}, "Sub": {"integer": 0, "float": 1}}


def test_a_missing_runtime_is_named_with_its_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"onnxruntime: pip install 'jaxkit\[export\]'"):
        open_session(tmp_path / "none.onnx", 1)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"onnx: pip install 'jaxkit\[export\]'"):
        to_onnx(graph_of("clip"), tmp_path / "none.onnx")
