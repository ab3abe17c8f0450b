"""Artifacts compare, time and measure what their engine opens."""

import jax
import numpy as np
import pytest

from jaxkit.compress import target
from jaxkit.compress.simulate import simulate
from jaxkit.export.artifact import Artifact, Engine, agreement, in_rows
from tests.export.networks import PICTURES, graph_of, inputs, min_max


def _engine(function, calls):
    def open_session(path, threads):
        calls.append((path, threads))
        return function

    return Engine("made up", open_session, lambda path: {"Conv": {"integer": 1, "float": 0}})


@pytest.fixture
def made(rng, tmp_path):
    """A function that makes artifacts of a network and a session, and a network."""
    path = tmp_path / "file"
    path.write_bytes(b"x" * 321)

    def artifact(network, function, calls=None):
        return Artifact(path, network, _engine(function, [] if calls is None else calls))

    return artifact, min_max(graph_of("dense on rows"), inputs(rng, PICTURES), target("xla"))


def test_verify_tells_how_many_values_agree_and_by_how_much(rng, made):
    artifact, q = made
    x, exact = inputs(rng, PICTURES, 20), jax.jit(simulate(q))
    step = q.values[q.graph.output].scale

    def off(rows):
        found = np.array(exact(rows))
        found[:, 0] += 3 * step
        return found

    assert artifact(q, exact).verify(x) == (1.0, 0.0, 1.0, 20)
    told = artifact(q, off).verify(x)
    assert (told.exact, told.count) == (pytest.approx(6 / 7), 20)
    assert told.largest == pytest.approx(3, rel=1e-4)
    assert artifact(q.graph, jax.jit(q.graph)).verify(x).exact == 1


def test_verify_needs_inputs(made):
    artifact, q = made
    with pytest.raises(ValueError, match="at least one input"):
        artifact(q, None).verify(np.zeros((0, *PICTURES), np.float32))


def test_threads_and_batches_reach_the_session(made):
    artifact, q = made
    calls, shapes = [], set()
    told = artifact(q, lambda x: shapes.add((x.shape, x.dtype.name)), calls).bench(threads=3, batch=5, seconds=0.0)
    assert shapes == {((5, *PICTURES), "float32")}
    assert [threads for _, threads in calls] == [3]
    assert 0 < told.low <= told.median <= told.high


def test_size_graph_and_coverage(made):
    artifact, q = made
    assert artifact(q, None).size == 321
    assert artifact(q, None).graph is artifact(q.graph, None).graph
    assert artifact(q, None).coverage() == {"Conv": {"integer": 1, "float": 0}}


@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_rows_are_handed_over_in_one_shape_and_come_back_in_order(rng, count):
    x, shapes = rng.normal(size=(count, 2)).astype(np.float32), set()

    def double(rows):
        shapes.add(rows.shape)
        return 2 * rows

    np.testing.assert_array_equal(in_rows(double, x, rows=4), 2 * x)
    assert shapes == {(4, 2)}


def test_agreement_of_real_values_is_in_their_own_unit():
    wanted = np.array([[0.0, 1.0], [2.0, 1.0]], np.float32)
    found = wanted + np.array([[0, 0], [0, 1.5]], np.float32)
    assert agreement(found, wanted) == (0.75, 1.5, 0.5, 2)
    assert agreement(found, wanted, step=1.0).exact == 0.75
