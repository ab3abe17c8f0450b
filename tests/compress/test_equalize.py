"""Channels of like size: the same function, and ranges that meet."""

import jax
import numpy as np
import pytest

from jaxkit.compress import Graph, Node, target
from jaxkit.compress.equalize import equalized, layer_pairs
from jaxkit.compress.post_training import post_training
from jaxkit.compress.simulate import simulate

SHAPE = {"strides": (1, 1), "dilation": (1, 1)}


def _conv(rng, name, before, kernel, groups=1, clip=None):
    pad = (kernel[0] // 2, kernel[0] // 2)
    weights = {"kernel": rng.normal(size=kernel), "bias": rng.normal(size=kernel[-1])}
    # Sizes of channels that differ by some hundred times: what calibration without equalisation suffers from.
    weights["kernel"] *= np.exp(rng.uniform(-3, 3, kernel[-1]))
    settings = {**SHAPE, "pads": (pad, pad), "groups": groups, **({} if clip is None else {"clip": clip})}
    return Node(name, "conv", (before,), {k: np.float32(v) for k, v in weights.items()}, settings)


def _graph(rng, clip=(0.0, None)):
    last = {"kernel": np.float32(rng.normal(size=(12, 5))), "bias": np.ones(5, np.float32)}
    nodes = (
        _conv(rng, "widened", "input", (1, 1, 3, 8), clip=clip),
        _conv(rng, "depthwise", "widened", (3, 3, 1, 16), groups=8, clip=clip),
        _conv(rng, "grouped", "depthwise", (1, 1, 4, 12), groups=4),
        Node("pooled", "max_pool", ("grouped",), {}, {"window": (2, 2), "strides": (2, 2), "pads": ((0, 0), (0, 0))}),
        Node("mean", "mean", ("pooled",), {}, {"axes": (1, 2)}),
        Node("relu", "clip", ("mean",), {}, {"low": 0.0, "high": None}),
        Node("out", "dense", ("relu",), last),
    )
    return Graph(nodes, "input", "out", (8, 8, 3))


def test_the_output_is_unchanged_and_ranges_meet(rng):
    graph = _graph(rng)
    changed = equalized(graph)
    assert layer_pairs(graph) == [("widened", "depthwise"), ("depthwise", "grouped"), ("grouped", "out")]
    x = rng.normal(size=(3, 8, 8, 3)).astype(np.float32)
    before, after = jax.jit(graph)(x), jax.jit(changed)(x)
    np.testing.assert_allclose(after, before, atol=1e-5 * np.abs(before).max())
    kernels = {node.name: node.weights["kernel"] for node in changed.nodes if node.weights}
    left = np.abs(kernels["widened"]).max(axis=(0, 1, 2))
    right = np.abs(kernels["depthwise"]).reshape(9, 8, 2).max(axis=(0, 2))
    np.testing.assert_allclose(left, right, rtol=0.01)
    left, right = np.abs(kernels["grouped"]).max(axis=(0, 1, 2)), np.abs(kernels["out"]).max(axis=1)
    np.testing.assert_allclose(left, right, rtol=0.01)


def test_one_scale_for_a_tensor_then_loses_less(rng):
    graph = _graph(rng)
    x = rng.normal(size=(16, 8, 8, 3)).astype(np.float32)
    wanted, errors = jax.jit(graph)(x), []
    for equalize in (False, True):
        settings = {"weights": "tensor", "ranges": "minmax", "rounding": "nearest", "bias_correction": False}
        q = post_training(graph, [x], target=target("litert"), equalize=equalize, **settings)
        errors.append(float(np.square(jax.jit(simulate(q))(x) - wanted).sum()))
    assert errors[1] < 0.2 * errors[0]


@pytest.mark.parametrize("clip", [(0.0, 6.0), (-1.0, None), (None, 1.0)])
def test_clips_that_a_factor_would_change_stay(rng, clip):
    graph = _graph(rng, clip)
    assert layer_pairs(graph) == [("grouped", "out")]
    for name in ("widened", "depthwise"):
        before, after = (next(n for n in g.nodes if n.name == name) for g in (graph, equalized(graph)))
        assert before.weights is after.weights


def test_a_value_that_others_take_stays(rng):
    nodes = (
        _conv(rng, "first", "input", (1, 1, 3, 3)),
        _conv(rng, "second", "first", (1, 1, 3, 3)),
        Node("sum", "add", ("first", "second")),
    )
    assert layer_pairs(Graph(nodes, "input", "sum", (4, 4, 3))) == []
    assert layer_pairs(Graph(nodes[:2], "input", "first", (4, 4, 3))) == []


def test_means_over_channels_stay(rng):
    dense = Node("out", "dense", ("mean",), {"kernel": np.ones((4, 2), np.float32), "bias": np.ones(2, np.float32)})
    for axes in ((3,), (1, 3)):
        mean = Node("mean", "mean", ("first",), {}, {"axes": axes})
        nodes = (_conv(rng, "first", "input", (1, 1, 3, 3)), mean, dense)
        assert layer_pairs(Graph(nodes, "input", "out", (4, 4, 3))) == []


def test_dead_channels_stay_finite(rng):
    graph = _graph(rng)
    for node in graph.nodes[:2]:
        node.weights["kernel"][..., :3] = 0.0
    x = rng.normal(size=(2, 8, 8, 3)).astype(np.float32)
    before = jax.jit(graph)(x)
    np.testing.assert_allclose(jax.jit(equalized(graph))(x), before, atol=1e-5 * np.abs(before).max())
