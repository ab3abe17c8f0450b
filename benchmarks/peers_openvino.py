"""Sessions of OpenVINO on the CPU, for ONNX files and its own."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

# Telemetry forks and calls home; neither belongs into a benchmark.
sys.modules.setdefault("openvino_telemetry", None)

import openvino  # noqa: E402


def open_session(*, path: str, threads: int) -> Callable[[Any], np.ndarray]:
    """A function of float32 `[N, 224, 224, 3]`; without the hint CPUs with bfloat16 units would compute in that."""
    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    model = core.compile_model(core.read_model(path), "CPU", settings)
    return lambda x: np.array(model({0: x})[0])
