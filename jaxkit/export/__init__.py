"""Networks as files for the runtimes that serve them: ONNX Runtime, OpenVINO, LiteRT, XLA.

Each writer gives an `Artifact`, which runs the file, compares it with the network in JAX, times it, and tells which of
its operations run on integers.
"""

from jaxkit.export.artifact import Agreement, Artifact, Engine, Session, Timing
from jaxkit.export.litert import to_litert
from jaxkit.export.onnx import to_onnx
from jaxkit.export.openvino import to_openvino
from jaxkit.export.xla import to_xla

__all__ = [
    "Agreement",
    "Artifact",
    "Engine",
    "Session",
    "Timing",
    "to_litert",
    "to_onnx",
    "to_openvino",
    "to_xla",
]
