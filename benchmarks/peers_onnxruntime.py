"""Sessions of ONNX Runtime on the CPU, for files that anybody wrote."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
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


def saturates() -> bool:
    """Whether 4 products of 255 and 127, in steps of 1000, are less than 130: sums of two overflow 16 bits (x86)."""
    x, kernel = np.full((1, 4, 1, 1), 255, np.uint8), np.full((1, 4, 1, 1), 127, np.int8)
    scales = {"s": np.float32(1), "z": np.uint8(0), "ws": np.float32(1), "wz": np.int8(0), "ys": np.float32(1000)}
    constants = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in (scales | {"w": kernel}).items()]
    node = onnx.helper.make_node("QLinearConv", ["x", "s", "z", "w", "ws", "wz", "ys", "z"], ["y"])
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.UINT8, [1, None, 1, 1]) for name in "xy"]
    graph = onnx.helper.make_graph([node], "proof", ends[:1], ends[1:], constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return bool(session.run(None, {"x": x})[0].item() != 130)
