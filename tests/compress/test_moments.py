"""Patches are what kernels multiply, and their moments those of all examples."""

import numpy as np
import pytest

from jaxkit.compress import Graph, Node
from jaxkit.compress.calibrate import observed
from jaxkit.compress.graph import evaluate
from jaxkit.compress.moments import FEW_PLACES, NOISE, WIDEST, patches

UNEVEN = {"strides": (2, 3), "pads": ((0, 1), (2, 1)), "dilation": (2, 1), "groups": 2}
DEPTHWISE = {"strides": (1, 1), "pads": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 4}


def _node(rng, settings):
    inputs = 4 // (settings or {"groups": 1})["groups"]
    shape = (inputs, 8) if settings is None else (3, 2, inputs, 8)
    weights = {"kernel": rng.normal(size=shape).astype(np.float32), "bias": np.zeros(8, np.float32)}
    return Node("layer", "dense" if settings is None else "conv", ("input",), weights, settings or {})


@pytest.mark.parametrize("settings", [UNEVEN, DEPTHWISE, None], ids=["uneven", "depthwise", "dense"])
def test_patches_times_the_kernel_are_the_outputs(rng, settings):
    node, x = _node(rng, settings), rng.normal(size=(2, 9, 8, 4)).astype(np.float32)
    rows = np.asarray(patches(node, x))
    kernel = node.weights["kernel"].reshape(rows.shape[-1], rows.shape[-2], -1)
    wanted = np.asarray(evaluate(node, [x])).reshape(2, -1, 8)
    np.testing.assert_allclose(np.einsum("npgk,kgo->npgo", rows, kernel).reshape(wanted.shape), wanted, atol=1e-5)


def test_moments_are_those_of_all_patches_of_all_examples(rng):
    node, x = _node(rng, DEPTHWISE), (rng.normal(size=(7, 5, 6, 4)) + 1).astype(np.float32)
    graph = Graph((node,), "input", "layer", (5, 6, 4))
    found = observed(graph, [x[:3], x[3:6], x[6:]]).moments["layer"]
    rows = np.asarray(patches(node, x), np.float64)
    rows = rows.reshape(-1, *rows.shape[2:])
    np.testing.assert_allclose(found.mean, rows.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(found.second, np.einsum("ngk,ngl->gkl", rows, rows) / len(rows), atol=1e-5)
    wanted = np.stack([np.cov(rows[:, group].T, bias=True) for group in range(4)])
    wanted += NOISE * np.square(rows).mean(axis=(0, 2))[:, None, None] * np.eye(6)
    np.testing.assert_allclose(found.covariance, wanted, atol=5e-6)
    assert observed(graph, [x], moments=False).moments is None


def test_of_large_pictures_some_places_stand_for_all(rng):
    node, x = _node(rng, DEPTHWISE), rng.normal(size=(1, 90, 70, 4)).astype(np.float32)
    rows = patches(node, x)
    assert FEW_PLACES / 2 < rows.shape[1] < 2 * FEW_PLACES
    every = evaluate(node, [x])
    kernel = node.weights["kernel"].reshape(6, 4, 2)
    some = np.einsum("npgk,kgo->npgo", np.asarray(rows), kernel).reshape(1, -1, 8)
    np.testing.assert_allclose(some, every[:, ::10, ::10].reshape(1, -1, 8), atol=1e-5)


def test_patches_too_wide_have_no_moments():
    names = {"fits": WIDEST, "wide": WIDEST + 1}
    zeros = {name: np.zeros((width, 1), np.float32) for name, width in names.items()}
    for name, kernel in zeros.items():
        node = Node(name, "dense", ("input",), {"kernel": kernel, "bias": np.zeros(1, np.float32)})
        graph = Graph((node,), "input", name, (len(kernel),))
        assert patches(node, np.zeros((1, len(kernel)), np.float32)).shape == (1, 1, 1, len(kernel))
        assert (name in observed(graph, [np.ones((1, len(kernel)), np.float32)]).moments) == (name == "fits")
