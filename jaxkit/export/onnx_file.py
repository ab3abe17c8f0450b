"""The nodes and constants of an ONNX file, while they are written."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxkit.compress.quantized import Affine, Quantized

PRODUCER = "jaxkit"
IR = {18: 8, 19: 9, 20: 9, 21: 10, 22: 10}  # the version of the format that came with each opset
WITH_BLOCKS = 21  # the first that knows INT4, and scales for blocks


def installed() -> Any:
    """The package `onnx`.

    Raises:
      ImportError: if it is not installed, with the extra that brings it.
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError("ONNX files need the package onnx: pip install 'jaxkit[export]'") from error
    return onnx


class File:
    """Collects nodes and constants.

    Args:
      q: the integers, or None for a network in float.
      opset: version of the operators; raised where something needs a newer one.
    """

    def __init__(self, q: Quantized | None, opset: int):
        self.onnx, self.q, self.opset = installed(), q, opset
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def node(self, op: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        """Adds a node; the name of its output."""
        self.nodes.append(self.onnx.helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def constant(self, name: str, values: Any) -> str:
        """Adds an array; one of a name that is there already is taken to be the same."""
        if name not in self.constants:
            self.constants[name] = self.onnx.numpy_helper.from_array(np.asarray(values, order="C"), name)
        return name

    def small(self, name: str, values: np.ndarray) -> str:
        """Adds integers in [-8, 7] as INT4, two to a byte, the first in the low half."""
        self.opset = max(self.opset, WITH_BLOCKS)
        flat = np.pad(values.reshape(-1), (0, values.size % 2)).astype(np.uint8) & 15
        content = (flat[::2] | (flat[1::2] << 4)).tobytes()
        kind = self.onnx.TensorProto.INT4
        self.constants[name] = self.onnx.helper.make_tensor(name, kind, values.shape, content, raw=True)
        return name

    def place(self, value: str) -> Affine | None:
        """The integers of a value of the graph, or None where it is real."""
        return None if self.q is None else self.q.values.get(value)

    def in_integers(self, node: Any) -> bool:
        """Whether a node of the graph computes with integers alone."""
        return self.q is not None and self.q.in_integers(node)

    def rounded(self, value: str, name: str, suffix: str = "") -> str:
        """`name` rounded to the integers that `value` has, as real values again; as it is where `value` has none."""
        at = self.place(value)
        if at is None:
            return name
        kind = np.dtype(self.q.target.activations)
        scale = self.constant(f"{value}.scale", np.float32(at.scale))
        zero = self.constant(f"{value}.zero_point", kind.type(at.zero_point))
        held = self.node("QuantizeLinear", [name, scale, zero], f"{value}{suffix}.integers")
        return self.node("DequantizeLinear", [held, scale, zero], f"{value}{suffix}.real")

    def model(self, output: str, taken: Sequence[int], given: Sequence[int]) -> Any:
        """The whole as an `onnx.ModelProto` from "input" to "output", for any N."""
        helper, real = self.onnx.helper, self.onnx.TensorProto.FLOAT
        for node in self.nodes:
            for names in (node.input, node.output):
                names[:] = ["output" if name == output else name for name in names]
        ends = [helper.make_tensor_value_info(n, real, ["N", *s]) for n, s in (("input", taken), ("output", given))]
        graph = helper.make_graph(self.nodes, "network", ends[:1], ends[1:], list(self.constants.values()))
        versions = {"opset_imports": [helper.make_opsetid("", self.opset)], "ir_version": IR[self.opset]}
        return helper.make_model(graph, producer_name=PRODUCER, **versions)
