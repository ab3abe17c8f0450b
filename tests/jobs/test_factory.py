"""Networks from files of users, and what is said of those that do not work."""

import textwrap

import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.jobs.factory import load_network

FLAX = """
from flax import nnx

def make():
    rngs = nnx.Rngs(0)
    return nnx.Sequential(nnx.Linear(3, 2, rngs=rngs), nnx.BatchNorm(2, rngs=rngs)), (3,)
"""
KERNEL = np.arange(6, dtype=np.float32).reshape(3, 2)
STATE = {
    "layers.0.kernel": KERNEL,
    "layers.0.bias": np.ones(2, np.float32),
    "layers.1.scale": np.full(2, 2, np.float32),
    "layers.1.bias": np.zeros(2, np.float32),
    "layers.1.mean": np.array([1, 2], np.float32),
    "layers.1.var": np.full(2, 1 - 1e-5, np.float32),
}


@pytest.fixture
def written(tmp_path):
    """Writes a file of Python and a `.npz`; returns what `load_network` takes."""

    def write(source, arrays=None, name="make"):
        (tmp_path / "net.py").write_text(textwrap.dedent(source))
        if arrays is not None:
            np.savez(tmp_path / "w.npz", **arrays)
        return f"{tmp_path / 'net.py'}:{name}", None if arrays is None else tmp_path / "w.npz"

    return write


def test_a_module_gets_its_weights_by_their_paths_and_stops_training(written):
    network = load_network(*written(FLAX, STATE))
    x = np.array([[1, 0, 2], [0, 1, 1]], np.float32)
    wanted = (x @ KERNEL + 1 - STATE["layers.1.mean"]) * 2
    assert network.shape == (3,) and network.preprocess is None
    assert np.allclose(network.function(jnp.asarray(x)), wanted, atol=1e-5)


def test_a_factory_may_take_the_weights(written):
    source = """
    def preprocess(picture):
        return picture * 2

    def make(weights):
        return lambda x: x @ weights["w"]
    """
    network = load_network(*written(source, {"w": KERNEL}))
    assert network.shape is None and network.preprocess(2.0) == 4.0
    assert np.array_equal(network.function(np.ones((1, 3), np.float32)), np.float32([[6, 9]]))


@pytest.mark.parametrize(
    "source, arrays, name, words",
    [
        (FLAX, {**STATE, "extra": KERNEL}, "make", "missing none; unknown extra"),
        (FLAX, {"layers.0.bias": KERNEL}, "make", r"missing layers.0.kernel, layers.1.bias"),
        (FLAX, {**STATE, "layers.0.kernel": KERNEL.T}, "make", r"layers.0.kernel has shape \(2, 3\)"),
        (FLAX, None, "other", "has no function other"),
        ("import no_such_module", None, "make", "cannot be imported: ModuleNotFoundError"),
        ("def make(): return 3", None, "make", "must return a network"),
        ("def make(): return len, (0, 2)", None, "make", "the shape of one input"),
        ("def make(): raise KeyError('stem')", None, "make", "failed: KeyError: 'stem'"),
        ("def make(): return lambda x: x", {"w": KERNEL}, "make", r"let it take them: factory\(weights\)"),
    ],
)
def test_what_does_not_work_is_said(written, source, arrays, name, words):
    with pytest.raises(ValueError, match=words):
        load_network(*written(source, arrays, name))


@pytest.mark.parametrize(
    "name, words", [("net", "MODULE:FACTORY"), ("nowhere.py:make", "no file"), ("no_such:make", "cannot be imported")]
)
def test_wrong_names_are_said(name, words):
    with pytest.raises(ValueError, match=words):
        load_network(name, None)


def test_weights_must_be_arrays(written, tmp_path):
    name, _ = written(FLAX)
    (tmp_path / "w.npz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="no .npz of plain arrays"):
        load_network(name, tmp_path / "w.npz")
    with pytest.raises(FileNotFoundError):
        load_network(name, tmp_path / "none.npz")
