"""`jaxkit quantize`, as a user meets it: files that runtimes run, a report, and exit codes."""

import json
import sys

import numpy as np
import onnxruntime
import pytest
from PIL import Image
from typer.testing import CliRunner

from jaxkit.cli import app
from jaxkit.jobs import quantize as jobs
from jaxkit.jobs.quantize import WRITERS, QuantizeJob

FACTORY = """
import jax
import jax.numpy as jnp


def preprocess(picture):
    return picture * 2 - 1


def network(weights):
    layout = ("NHWC", "HWIO", "NHWC")

    def run(x):
        x = jax.lax.conv_general_dilated(x, weights["conv"], (2, 2), "SAME", dimension_numbers=layout)
        return jnp.mean(jnp.clip(x, 0.0, 6.0), axis=(1, 2)) @ weights["head"]

    return run, (12, 12, 3)


def broken(weights):
    return lambda x: x @ weights["head"], (12, 12, 3)
"""


@pytest.fixture
def jaxkit(tmp_path, monkeypatch):
    """Runs `jaxkit quantize` in a folder with a network, weights and pictures, and returns what came of it."""
    rng = np.random.default_rng(0)
    (tmp_path / "net.py").write_text(FACTORY)
    weights = {"conv": rng.normal(size=(3, 3, 3, 8)), "head": rng.normal(size=(8, 4))}
    np.savez(tmp_path / "w.npz", **{name: values.astype(np.float32) for name, values in weights.items()})
    (tmp_path / "pictures").mkdir()
    for i in range(6):
        Image.fromarray(rng.integers(0, 256, (15, 14, 3), dtype=np.uint8)).save(tmp_path / "pictures" / f"{i}.png")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    given = {"--weights": "w.npz", "--calibration": "pictures", "--out": "net.onnx"}

    def run(*arguments, factory="net.py:network", **changes):
        options = given | {f"--{name}": value for name, value in changes.items()}
        words = [str(word) for pair in options.items() if pair[1] is not None for word in pair]
        return CliRunner().invoke(app, ["quantize", factory, *words, *map(str, arguments)])

    return run


def test_a_network_becomes_a_file_that_runs_and_a_report(jaxkit, tmp_path):
    (tmp_path / "pictures" / "ill.png").write_bytes(b"no picture")
    (tmp_path / "labels.csv").write_text("".join(f"{i}.png,{i % 4}\n" for i in range(6)))
    run = jaxkit("--report", "r.json", "--plot", "r.png", "--labels", "labels.csv")
    assert run.exit_code == 0, run.output
    for words in ("calibrating", "one layer at a time", "left out ill.png", "6 from 6 files, 1 left out", "accuracy"):
        assert words in run.output
    assert "verified      yes: 100.00% of the outputs are as simulated" in run.output
    assert "Wrote net.onnx and r.json and r.png" in run.output
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx")
    assert session.run(None, {session.get_inputs()[0].name: np.zeros((2, 12, 12, 3), np.float32)})[0].shape == (2, 4)
    held = json.loads((tmp_path / "r.json").read_text())
    assert held["target"] == "onnxruntime" and held["examples"] == 6 and held["sqnr"] > 20
    with Image.open(tmp_path / "r.png") as picture:
        assert picture.size[0] > 1000


def test_layers_may_stay_in_float_for_another_runtime(jaxkit, tmp_path):
    first = jaxkit("--report", "all.json", target="xla", out="net.jaxexport")
    assert first.exit_code == 0, first.output
    layers = json.loads((tmp_path / "all.json").read_text())["layers"]
    conv = next(layer["name"] for layer in layers if layer["op"] == "conv")
    second = jaxkit("--exclude", conv, "--report", "part.json", target="xla", out="part.jaxexport", ranges="minmax")
    assert second.exit_code == 0, second.output
    assert f"in float run {conv} (excluded)" in second.output
    assert json.loads((tmp_path / "part.json").read_text())["islands"][conv] == "excluded"


def test_a_runtime_that_disagrees_ends_with_1(jaxkit, monkeypatch):
    monkeypatch.setattr(jobs, "STEPS", -1)
    run = jaxkit()
    assert run.exit_code == 1, run.output
    assert "verified      NO" in run.output and "Wrote net.onnx" in run.output


def test_a_runtime_that_is_not_here_is_told(jaxkit, monkeypatch):
    def absent():
        raise ImportError("this needs the package onnxruntime: pip install 'jaxkit[export]'")

    monkeypatch.setattr("jaxkit.export.onnxruntime.installed", absent)
    run = jaxkit()
    assert run.exit_code == 0 and "verified      no: this needs the package onnxruntime" in run.output
    tensorrt = jaxkit(target="tensorrt")
    assert tensorrt.exit_code == 0 and "tensorrt has never been run here" in tensorrt.output


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"factory": "net.py:nothing"}, "net.py has no function nothing"),
        ({"factory": "net.py:broken"}, "cannot be traced on inputs [N, 12, 12, 3]: TypeError"),
        ({"weights": None}, "cannot be traced on inputs [N, 12, 12, 3]: KeyError: 'conv'"),
        ({"weights": "no.npz"}, "no.npz: no such file"),
        ({"calibration": "nowhere"}, "nowhere is not a folder"),
        ({"out": "net.tflite"}, "net.tflite must end in .onnx"),
        ({"out": "no/net.onnx"}, "no is not a folder"),
        ({"target": "abacus"}, "target must be one of onnxruntime"),
        ({"ranges": "guess"}, "ranges must be one of"),
        ({"exclude": "conv_99"}, "not there: ['conv_99']"),
        ({"size": 8}, "--size 8 contradicts the shape (12, 12, 3)"),
        ({"mean": 0.5}, "not both"),
        ({"std": 0}, "std positive"),
        ({"examples": 0}, "examples must be at least 1"),
    ],
)
def test_wrong_use_ends_with_2_and_a_sentence(jaxkit, changes, words):
    run = jaxkit(**changes)
    assert run.exit_code == 2 and run.output.count("\n") <= 6, run.output
    assert words in " ".join(run.output.split()) and "Traceback" not in run.output


def test_no_good_picture_ends_with_2_and_the_list(jaxkit, tmp_path):
    for path in (tmp_path / "pictures").iterdir():
        path.write_bytes(b"no picture")
    run = jaxkit()
    assert run.exit_code == 2 and "no file of pictures can be used" in run.output
    assert all(f"{i}.png: cannot identify" in run.output for i in range(6))


def test_a_crash_ends_with_4(jaxkit, monkeypatch):
    def crash(*given, **settings):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(jobs, "post_training", crash)
    run = jaxkit()
    assert run.exit_code == 4 and "crashed: RuntimeError: out of luck" in run.output


def test_each_target_has_a_writer(tmp_path):
    for name, (suffix, _) in WRITERS.items():
        assert QuantizeJob("net:make", tmp_path, tmp_path / f"net{suffix}", target=name).target == name
