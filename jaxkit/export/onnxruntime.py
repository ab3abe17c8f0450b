"""ONNX Runtime: sessions with its default options, and which operations it runs on integers."""

import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxkit.export.artifact import Engine, Session

CONVERSIONS = ("QuantizeLinear", "DequantizeLinear")
ON_INTEGERS = ("QLinear", "QGemm", "MatMulInteger", "ConvInteger", "MatMulNBits")


def installed() -> Any:
    """The package `onnxruntime`.

    Raises:
      ImportError: if it is not installed, with the extra that brings it.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError("this needs the package onnxruntime: pip install 'jaxkit[export]'") from error
    return onnxruntime


def open_session(path: Path, threads: int, **options: Any) -> Session:
    """A session on the CPU: float32 `[N, ...]` to float32.

    Threads stop when a call returns, so that they take nothing from what runs next; else the options are the defaults.

    Args:
      path: of the ONNX file.
      threads: that one operation may take.
      options: more attributes of `onnxruntime.SessionOptions`.
    """
    runtime = installed()
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
    settings.add_session_config_entry("session.force_spinning_stop", "1")
    for name, value in options.items():
        setattr(settings, name, value)
    session = runtime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    taken = session.get_inputs()[0].name
    return lambda x: session.run(None, {taken: x})[0]


def coverage(path: Path) -> Mapping[str, Mapping[str, int]]:
    """Counts operations of the graph that ONNX Runtime makes of a file, without the steps between real and integer."""
    import onnx

    with tempfile.TemporaryDirectory() as folder:
        optimised = Path(folder) / "optimised.onnx"
        open_session(path, 1, optimized_model_filepath=str(optimised), log_severity_level=3)
        nodes = onnx.load(optimised).graph.node
    counts: dict[str, dict[str, int]] = defaultdict(lambda: {"integer": 0, "float": 0})
    held: set[str] = set()
    for node in nodes:
        own = node.op_type.startswith(ON_INTEGERS) or node.input[0] in held
        if node.op_type != "DequantizeLinear" and (own or node.op_type == "QuantizeLinear"):
            held |= set(node.output)
        if node.op_type not in CONVERSIONS:
            counts[_plain(node.op_type)]["integer" if own else "float"] += 1
    return dict(counts)


def _plain(op: str) -> str:
    """`QLinearConv` and `QGemm` as `Conv` and `Gemm`."""
    return op.removeprefix("QLinear").replace("QGemm", "Gemm")


ONNX_RUNTIME = Engine("onnxruntime", open_session, coverage)
