"""One walk over the inputs: extremes, means and histograms of every value, and errors that say where."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.compress import Graph, Node
from jaxkit.compress.calibrate import observed
from jaxkit.compress.histogram import empty, observe

KERNEL = np.float32([[1.0, -2.0], [0.5, 1.0], [0.0, 3.0]])


def _graph():
    weights = {"kernel": KERNEL, "bias": np.float32([1.0, -1.0])}
    layer = Node("layer", "dense", ("input",), weights, {"clip": (0.0, 6.0)})
    return Graph((layer, Node("root", "sqrt", ("layer",))), "input", "root", (5, 3))


def test_extremes_means_and_histograms_are_those_of_all_examples(rng):
    x = rng.normal(size=(11, 5, 3)).astype(np.float32)
    found = observed(_graph(), [x[:4], x[4:8], x[8:]], bins=256)
    wanted = {"input": x, "layer": np.clip(x @ KERNEL + np.float32([1, -1]), 0, 6)}
    assert found.examples == 11 and found.ends.keys() == found.histograms.keys() == {"input", "layer", "root"}
    for name, values in wanted.items():
        ends = min(values.min(), 0), max(values.max(), 0)
        np.testing.assert_allclose(found.ends[name], ends, rtol=1e-6)
        whole = observe(empty(256), values)
        assert found.histograms[name].total == values.size
        assert np.abs(found.histograms[name].counts - whole.counts).sum() <= 4
    assert found.means.keys() == {"input"}
    np.testing.assert_allclose(found.means["input"], x.mean(axis=0, dtype=np.float64), atol=1e-6)


def test_a_function_gives_the_batches_and_small_ones_run_in_the_same_program(rng, programs):
    x = rng.normal(size=(7, 5, 3)).astype(np.float32)
    whole = observed(_graph(), [x])
    before = len(programs)
    parts = observed(_graph(), lambda: iter([jnp.asarray(x[:3]), x[3:4], x[4:6], x[6:]]))
    assert len([name for name in programs[before:] if "lambda" in name]) == 1
    assert parts.ends.keys() == whole.ends.keys() and parts.histograms is None
    for name, ends in whole.ends.items():
        np.testing.assert_allclose(parts.ends[name], ends, rtol=1e-6)
    np.testing.assert_allclose(parts.means["input"], whole.means["input"], atol=1e-6)


@pytest.mark.parametrize(
    "batches, message",
    [
        ([], "there was no batch"),
        ([np.zeros((2, 5, 3), np.float32), np.zeros((0, 5, 3), np.float32)], "batch 1 is empty"),
        ([np.zeros((2, 3, 5), np.float32)], r"batch 0 is float32 \[2, 3, 5\]; the network takes float32 \[n, 5, 3\]"),
        ([np.zeros((5, 3), np.float32)], r"batch 0 is float32 \[5, 3\]"),
        ([np.zeros((2, 5, 3))], r"batch 0 is float64 \[2, 5, 3\]"),
        ([np.zeros((2, 5, 3), np.uint8)], "batch 0 is uint8"),
    ],
)
def test_batches_that_the_network_does_not_take_are_refused(batches, message):
    with pytest.raises(ValueError, match=message):
        observed(_graph(), batches)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_named(value):
    good, bad = np.ones((2, 5, 3), np.float32), np.ones((2, 5, 3), np.float32)
    bad[1, 4, 2] = value
    with pytest.raises(ValueError, match="input in batch 1 is not finite"):
        observed(_graph(), [good, bad])
    with pytest.raises(ValueError, match="quotient in batch 0 is not finite"):
        graph = _graph()
        quotient = Node("quotient", "log", ("layer",))
        observed(Graph((*graph.nodes, quotient), "input", "quotient", (5, 3)), [-5 * good])
