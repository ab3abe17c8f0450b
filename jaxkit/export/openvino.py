"""OpenVINO: the same ONNX file, read and run on the CPU."""

import dataclasses
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxkit.compress.graph import Graph
from jaxkit.compress.quantized import Quantized
from jaxkit.export.artifact import Artifact, Engine, Session
from jaxkit.export.onnx import to_onnx

INTEGERS = ("u8", "i8", "u4", "i4")
TELEMETRY = "openvino_telemetry"
ENDS = ("Const", "Input", "Output", "Reorder", "Convert")


def to_openvino(network: Graph | Quantized, path: str | Path) -> Artifact:
    """Writes a network as an ONNX file that OpenVINO opens; the arguments and errors of `to_onnx`."""
    return dataclasses.replace(to_onnx(network, path), engine=OPENVINO)


def installed() -> Any:
    """The package `openvino`, without its telemetry: that forks, which may lock up a process in which JAX has threads.

    Raises:
      ImportError: if it is not installed, with the extra that brings it.
    """
    silent = {TELEMETRY: None} if TELEMETRY not in sys.modules else {}
    sys.modules.update(silent)
    try:
        import openvino
    except ImportError as error:
        raise ImportError("this needs the package openvino: pip install 'jaxkit[openvino]'") from error
    finally:
        for name in silent:
            del sys.modules[name]
    return openvino


def _compiled(path: Path, threads: int) -> Any:
    # Without the hint, CPUs with bfloat16 units compute in that, and results depend on the machine.
    settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    core = installed().Core()
    return core.compile_model(core.read_model(path), "CPU", settings)


def open_session(path: Path, threads: int) -> Session:
    """A session on the CPU: float32 `[N, ...]` to float32."""
    model = _compiled(path, threads)
    return lambda x: np.array(model({0: x})[0])


def coverage(path: Path) -> Mapping[str, Mapping[str, int]]:
    """Counts operations by the precision in which OpenVINO runs them, without changes of layout and type."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: {"integer": 0, "float": 0})
    for node in _compiled(path, 1).get_runtime_model().get_ops():
        info = node.get_rt_info()
        kind, precision = (info[key].astype(str) for key in ("layerType", "runtimePrecision"))
        if kind not in ENDS and not _of_constants(node):
            counts[kind]["integer" if precision in INTEGERS else "float"] += 1
    return dict(counts)


def _of_constants(node: Any) -> bool:
    """Whether a node only prepares weights."""
    sources = [value.get_source_output().get_node().get_rt_info()["layerType"].astype(str) for value in node.inputs()]
    return set(sources) == {"Const"}


OPENVINO = Engine("openvino", open_session, coverage)
