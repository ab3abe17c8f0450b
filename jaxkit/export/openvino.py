"""OpenVINO: the same ONNX file, read and run on the CPU."""

import dataclasses
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
ENDS = ("Const", "Input", "Output", "Reorder", "Convert")


def to_openvino(network: Graph | Quantized, path: str | Path) -> Artifact:
    """Writes a network as an ONNX file that OpenVINO opens; the arguments and errors of `to_onnx`."""
    return dataclasses.replace(to_onnx(network, path), engine=OPENVINO)


def _compiled(path: Path, threads: int) -> Any:
    try:
        import openvino
    except ImportError as error:
        raise ImportError("this needs the package openvino: pip install 'jaxkit[export]'") from error
    # Without the hint, CPUs with bfloat16 units compute in that, and results depend on the machine.
    settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    core = openvino.Core()
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
        if kind not in ENDS:
            counts[kind]["integer" if precision in INTEGERS else "float"] += 1
    return dict(counts)


OPENVINO = Engine("openvino", open_session, coverage)
