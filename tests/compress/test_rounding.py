"""Scales of values and weights: nothing saturates, dies or overflows without a word."""

import dataclasses
import itertools

import jax
import numpy as np
import pytest

from jaxkit.compress import Affine, Graph, Node, target
from jaxkit.compress.rounding import (
    affine,
    quantized_layer,
    quantized_layers,
    weight_limits,
    weight_scales,
    with_biases,
)

WEAK, PLAIN = target("onnxruntime"), target("litert")
CONV = {"strides": (1, 1), "pads": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1}


def _dense(kernel, bias=None):
    bias = np.zeros(kernel.shape[-1], np.float32) if bias is None else np.float32(bias)
    return Node("layer", "dense", ("input",), {"kernel": np.float32(kernel), "bias": bias})


@pytest.mark.parametrize("name", ["onnxruntime", "litert", "tensorrt"])
@pytest.mark.parametrize("low, high", [(-1.0, 2.0), (0.5, 6.0), (-3.0, -1.0), (0.0, 1e-12), (-1e30, 1e38)])
def test_a_range_is_covered_and_zero_has_an_integer(name, low, high):
    runtime = target(name)
    info = np.iinfo(runtime.activations)
    scale, zero = affine(low, high, target=runtime)
    assert info.min <= zero <= info.max and (zero == 0 or not runtime.symmetric)
    reach = (info.min - zero) * np.float64(scale), (info.max - zero) * np.float64(scale)
    assert reach[0] <= min(low, 0) + 0.51 * scale and reach[1] >= max(high, 0) - 0.51 * scale
    span = max(high, -low) / 127 if runtime.symmetric else (max(high, 0) - min(low, 0)) / 255
    np.testing.assert_allclose(scale, span, rtol=1e-6)


def test_values_that_are_always_zero_have_a_scale():
    assert affine(0.0, 0.0, target=WEAK) == Affine(np.float32(1), 0)
    assert affine(0.0, 1e-30, target=PLAIN) == Affine(np.float32(1), -128)


@pytest.mark.parametrize("low, high", [(1.0, 0.0), (0.0, np.inf), (np.nan, 1.0)])
def test_a_range_that_is_none_is_refused(low, high):
    with pytest.raises(ValueError, match="finite with low <= high"):
        affine(low, high, target=PLAIN)


@pytest.mark.parametrize("compensating", [False, True], ids=["nearest", "compensated"])
@pytest.mark.parametrize("kind", ["normal", "one large", "equal", "depthwise", "half steps"])
def test_no_two_weights_of_a_channel_saturate_a_pair(rng, kind, compensating):
    kernel = rng.normal(size=(3, 3, 4, 6)).astype(np.float32)
    if kind == "one large":
        kernel[0, 0, 0] = 30.0
    if kind == "equal":
        kernel = np.full((1, 1, 40, 5), -0.37, np.float32)
    if kind == "depthwise":
        kernel = kernel[:, :, :1]
    if kind == "half steps":
        kernel = np.float32([[[[64.5], [62.5], [63.5], [1.0]]]]) * np.float32(0.1)
    node = Node("layer", "conv", ("input",), {"kernel": kernel, "bias": np.zeros(kernel.shape[-1], np.float32)}, CONV)
    # Inputs that are nearly one: errors of many weights meet in the last ones.
    length = kernel[..., 0].size
    settings = {"target": WEAK, "products": np.full((1, length, length), 1.0) if compensating else None}
    for weights in ("channel", "tensor"):
        integers = quantized_layer(node, Affine(np.float32(0.1), 0), weights=weights, **settings).kernel.values()
        for channel in integers.reshape(-1, kernel.shape[-1]).T.astype(int):
            for one, other in itertools.combinations(channel, 2):
                # vpmaddubsw adds two products of an unsigned and a signed byte in int16.
                assert -(2**15) <= 255 * min(one + other, one, other) and 255 * max(one + other, one, other) < 2**15
    assert np.abs(integers).max() >= 50


@pytest.mark.parametrize("runtime", [WEAK, PLAIN], ids=["pairs", "plain"])
def test_limits_let_no_pair_saturate_whatever_the_integers_become(rng, runtime):
    kernel = np.float32(rng.standard_t(2, size=(20, 40)))
    kernel[:, 0], kernel[0, 1], kernel[1, 2] = np.abs(kernel[:, 0]), 1e4, -1e4
    steps = kernel / weight_scales(kernel, np.zeros(40, np.float32), None, target=runtime)
    low, high = weight_limits(steps, target=runtime)
    nearest = np.rint(steps)
    assert np.all((low <= nearest) & (nearest <= high)) and np.all((low >= -127) & (high <= 127))
    pairs = [limit[one] + limit[other] for limit in (-low, high) for one, other in itertools.combinations(range(20), 2)]
    assert np.max(pairs) == (128 if runtime is WEAK else 254)
    assert np.all(weight_limits(steps[:1], target=runtime)[1] == 127)


def test_biases_are_made_anew_for_kernels_that_stay(rng):
    node = _dense(rng.normal(size=(4, 3)), [1.0, 2.0, 3.0])
    for values, kind in (({"input": Affine(np.float32(0.1), 0)}, np.int32), ({}, np.float32)):
        layers = quantized_layers(Graph((node,), "input", "layer", (4,)), values, target=PLAIN)
        other = node.replace(weights={**node.weights, "bias": np.float32([-1, 5, 0])})
        found = with_biases(Graph((other,), "input", "layer", (4,)), values, layers, target=PLAIN)["layer"]
        unit = np.float64(0.1) * layers["layer"].kernel.scale[0] if values else 1
        np.testing.assert_allclose(found.bias * unit, [-1, 5, 0], atol=1e-3)
        assert found.bias.dtype == kind and found.kernel is layers["layer"].kernel


def test_a_lone_weight_may_be_127_and_others_keep_every_bit(rng):
    node = _dense(rng.normal(size=(1, 8)))
    for runtime in (WEAK, PLAIN):
        assert np.all(np.abs(quantized_layer(node, None, target=runtime).kernel.values()) == 127)
    wide = _dense(rng.normal(size=(50, 8)))
    for runtime in (PLAIN, target("onnxruntime", isa="vnni")):
        layer = quantized_layer(wide, None, target=runtime)
        assert np.all(np.abs(layer.kernel.values()).max(axis=0) == 127)
        error = np.abs(layer.kernel.values() * layer.kernel.scale - wide.weights["kernel"])
        assert np.all(error <= 0.5001 * layer.kernel.scale)


@pytest.mark.parametrize("weights", ["channel", "tensor"])
@pytest.mark.parametrize("runtime", [WEAK, PLAIN, target("tensorrt")], ids=lambda runtime: runtime.name)
def test_scales_are_the_same_bits_on_the_host_and_within_a_program(rng, weights, runtime):
    kernel, bias = rng.normal(size=(3, 3, 5, 64)).astype(np.float32), rng.normal(size=64).astype(np.float32)
    kernel[..., 3], kernel[..., 4], bias[:2] = 0.0, 1e-30, (0.0, 1e6)
    step = np.float32(0.0237)
    on_host = weight_scales(kernel, bias, step, target=runtime, weights=weights)
    compiled = jax.jit(lambda *x: weight_scales(*x, target=runtime, weights=weights))(kernel, bias, step)
    np.testing.assert_array_equal(on_host, compiled)
    assert on_host.dtype == np.float32 and on_host.shape == (1, 1, 1, 64 if weights == "channel" else 1)
    assert np.all(on_host >= np.finfo(np.float32).tiny) and np.all(np.isfinite(on_host))


@pytest.mark.parametrize("weight", [0.0, 1e-42, 1e-20, 1e-9])
def test_a_dead_channel_keeps_its_bias(rng, weight):
    kernel = rng.normal(size=(20, 4)).astype(np.float32)
    kernel[:, 1:3] = weight
    node = _dense(kernel, [0.5, 3.0, 0.0, -0.25])
    at = Affine(np.float32(0.02), 3)
    for runtime in (WEAK, PLAIN):
        layer = quantized_layer(node, at, target=runtime)
        np.testing.assert_array_less(np.abs(layer.bias.astype(np.int64)), 2**31 - 1)
        real = layer.bias * np.float64(at.scale) * layer.kernel.scale.reshape(-1)
        np.testing.assert_allclose(real, node.weights["bias"], atol=0.02 * 0.05, rtol=1e-6)
        assert np.abs(layer.kernel.values()[:, 1:3] * layer.kernel.scale[:, 1:3]).max() < 1e-8


def test_a_bias_that_is_too_large_for_its_step_raises_the_scale(rng):
    kernel = rng.normal(size=(30, 3)).astype(np.float32) * np.float32([1, 1e-9, 1e-9])
    node = _dense(kernel, [1.0, 5.0, -5.0])
    at = Affine(np.float32(1e-4), 0)
    plain, safe = (quantized_layer(node, step, target=PLAIN).kernel.scale for step in (None, at))
    assert np.any(np.abs(node.weights["bias"]) / (at.scale * plain[0].astype(np.float64)) > 2**31)
    layer = quantized_layer(node, at, target=PLAIN)
    most = np.abs(layer.kernel.values().astype(np.int64)).sum(axis=0) * 255 + np.abs(layer.bias.astype(np.int64))
    assert np.all(most < 2**31) and layer.bias.dtype == np.int32
    assert safe[0, 0] == plain[0, 0] and np.all(safe[0, 1:] > plain[0, 1:])
    np.testing.assert_allclose(layer.bias * np.float64(at.scale) * safe[0], node.weights["bias"], rtol=1e-6)


def test_biases_of_float_stay_as_they_are(rng):
    node = _dense(rng.normal(size=(5, 3)), [1e9, 0.1, -3.0])
    for at, runtime in ((Affine(np.float32(1e-6), 0), target("tensorrt")), (None, PLAIN)):
        layer = quantized_layer(node, at, target=runtime)
        np.testing.assert_array_equal(layer.bias, node.weights["bias"])
        assert layer.bias.dtype == np.float32


def test_every_convolution_and_dense_layer_has_integers(rng):
    first = _dense(rng.normal(size=(4, 3)))
    second = dataclasses.replace(_dense(rng.normal(size=(3, 2)), [1.0, 2.0]), name="second", inputs=("relu",))
    relu = Node("relu", "clip", ("layer",), {}, {"low": 0.0, "high": None})
    graph = Graph((first, relu, second), "input", "second", (4,))
    layers = quantized_layers(graph, {"input": Affine(np.float32(0.1), 0)}, target=PLAIN)
    assert layers.keys() == {"layer", "second"}
    assert layers["layer"].bias.dtype == np.int32 and layers["second"].bias.dtype == np.float32


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(value):
    with pytest.raises(ValueError, match="layer has weights that are not finite"):
        quantized_layer(_dense(np.full((2, 2), value)), None, target=PLAIN)


def test_unknown_choices_are_refused(rng):
    with pytest.raises(ValueError, match="weights must be one of channel, tensor"):
        quantized_layer(_dense(rng.normal(size=(2, 2))), None, target=PLAIN, weights="row")
