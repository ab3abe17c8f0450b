"""The process that has the packages of LiteRT: found, asked, and gone when it is not needed."""

import os
import subprocess
from pathlib import Path

import pytest

from jaxkit.export.litert import to_litert
from jaxkit.export.litert_process import ADVICE, PACKAGES, VARIABLE, Process, Session, interpreter
from tests.export.networks import PICTURES, graph_of, inputs

needs_litert = pytest.mark.skipif(VARIABLE not in os.environ, reason="\n".join(ADVICE))
CANARY = """
from litert_converter import converter_api_ext as api, schema_py_generated as schema
from litert_converter.mlir import ir, passmanager
config = api.ConvertToTFLConfig()
config.qdq_conversion_mode, config.strict_qdq_mode = "STATIC", True
print([name for name in ("prepare_mlir_context", "set_signature", "merge_modules", "run_convert_to_tfl_passes",
    "export_flatbuffer_to_bytes") if not hasattr(api, name)])
print([name for name in ("Model", "BuiltinOperator", "TensorType") if not hasattr(schema, name)])
from ai_edge_litert.interpreter import Interpreter
print([name for name in ("_get_ops_details", "get_tensor_details") if not hasattr(Interpreter, name)])
"""


def _children():
    """Processes that this one has started and not yet waited for."""
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


@needs_litert
def test_the_packages_have_the_names_that_jaxkit_relies_on():
    command = [os.environ[VARIABLE], "-I", "-c", CANARY]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"LiteRT's packages changed; see export/litert_worker.py\n{done.stderr}"
    missing = done.stdout.split("\n")
    assert missing[:3] == ["[]"] * 3, "litert-converter or ai-edge-litert changed; see export/litert_worker.py"


@needs_litert
def test_sessions_end_their_processes(rng, tmp_path):
    before = _children()
    artifact = to_litert(graph_of("add"), tmp_path / "add.tflite")
    assert _children() == before
    with artifact.open() as session:
        assert len(_children() - before) == 1
    assert _children() == before
    with pytest.raises(RuntimeError, match="after it was closed"):
        session(inputs(rng, PICTURES, 1))
    session = artifact.open()
    assert len(_children() - before) == 1
    del session
    assert _children() == before


@needs_litert
def test_what_the_packages_say_is_passed_on(tmp_path):
    path = tmp_path / "none.tflite"
    path.write_bytes(b"this is no model")
    with pytest.raises(RuntimeError, match="LiteRT could not open: ValueError"):
        Session(path, 1, os.environ[VARIABLE])
    process = Process(os.environ[VARIABLE])
    with pytest.raises(RuntimeError, match="LiteRT could not convert: .*[Pp]arse"):
        process.ask("convert", b"this is no program", integers=False)
    process.close()


def test_a_process_that_dies_is_told_with_its_last_words(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho an error: no more memory >&2\nexit 3\n")
    python.chmod(0o755)
    before = _children()
    with pytest.raises(
        ValueError, match=r"cannot be a LiteRT file: .*code 3 when asked to convert:\nan error: no more"
    ):
        to_litert(graph_of("add"), tmp_path / "add.tflite", python=python)
    assert _children() == before
    with pytest.raises(ValueError, match="none cannot be run"):
        to_litert(graph_of("add"), tmp_path / "add.tflite", python=tmp_path / "none")
    assert not (tmp_path / "add.tflite").exists()


def test_without_an_environment_the_error_says_how_to_make_one(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in PACKAGES else object())
    with pytest.raises(ImportError) as error:
        interpreter(None)
    assert all(line in str(error.value) for line in ADVICE) and len(ADVICE) == 2
    monkeypatch.setenv(VARIABLE, "/somewhere/python")
    assert interpreter(None) == "/somewhere/python"
    assert interpreter(Path("/own/python")) == "/own/python"
