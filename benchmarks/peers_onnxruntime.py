"""Sessions of ONNX Runtime on the CPU, for files that anybody wrote."""

from collections.abc import Callable
from typing import Any

import onnxruntime


def open_session(*, path: str, threads: int, exact: bool = False) -> Callable[[Any], Any]:
    """A function of float32 `[N, 224, 224, 3]`.

    Args:
      path: of the ONNX file.
      threads: of one operation. They stop when a call returns; all else is the default.
      exact: sets `session.x64quantprecision`, with which products of integers do not saturate.
    """
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
    settings.log_severity_level = 3
    settings.add_session_config_entry("session.force_spinning_stop", "1")
    if exact:
        settings.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda x: session.run(None, {name: x})[0]
