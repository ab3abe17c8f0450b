"""Networks as ONNX files: in float, with integers between QuantizeLinear and DequantizeLinear, or with small weights.

The file takes and gives what the graph does, pictures as `[N, H, W, C]`; inside they are `[N, C, H, W]`, as runtimes
want them. Every value with integers is rounded where it is made, so that a runtime sees whole operations on integers.
"""

from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxkit.compress.graph import Graph
from jaxkit.compress.quantized import Quantized
from jaxkit.export.artifact import Artifact
from jaxkit.export.onnx_file import File, installed
from jaxkit.export.onnx_nodes import NODES, ValueOf, clipped
from jaxkit.export.onnxruntime import ONNX_RUNTIME

OPSETS = (18, 19, 20, 21, 22)


def to_onnx(network: Graph | Quantized, path: str | Path, *, opset: int = 20) -> Artifact:
    """Writes a network as an ONNX file, for ONNX Runtime and whatever else reads them.

    Args:
      network: a `Graph` in float, or what calibration or training made of one.
      path: of the file.
      opset: version of the operators, 18 to 22. Weights of 4 bits or with scales for groups are written with 21.

    Returns:
      An `Artifact` that ONNX Runtime opens. The same network always gives the same bytes.

    Raises:
      ValueError: if an operation cannot be written, or for other opsets.
      ImportError: if `onnx` is not installed.
    """
    if opset not in OPSETS:
        raise ValueError(f"opset must be one of {OPSETS}, got {opset!r}")
    content = written(network, opset=opset).SerializeToString(deterministic=True)
    path = Path(path)
    path.write_bytes(content)
    return Artifact(path, network, ONNX_RUNTIME)


def written(network: Graph | Quantized, *, opset: int = 20) -> Any:
    """The `onnx.ModelProto` of a network, checked.

    Raises:
      ValueError: if an operation cannot be written.
      ImportError: if `onnx` is not installed.
    """
    onnx = installed()
    graph, q = (network.graph, network) if isinstance(network, Quantized) else (network, None)
    shapes = {name: value.shape for name, value in _spec(graph).items()}
    file = File(q, opset)
    names = {graph.input: file.rounded(graph.input, _channels_first(file, graph))}
    for node in graph.nodes:
        if node.op not in NODES:
            raise ValueError(f"{node.name} has the operation {node.op!r}, which has no form in ONNX")
        inputs = [ValueOf(name, names[name], shapes[name]) for name in node.inputs]
        made = NODES[node.op](file, node, inputs)
        names[node.name] = clipped(file, node, made)
    output = _channels_last(file, names[graph.output], shapes[graph.output])
    model = file.model(output, graph.shape, shapes[graph.output][1:])
    onnx.checker.check_model(model, full_check=True)
    return model


def _spec(graph: Graph) -> dict[str, jax.ShapeDtypeStruct]:
    return jax.eval_shape(graph.values, jax.ShapeDtypeStruct((1, *graph.shape), np.float32))


def _channels_first(file: File, graph: Graph) -> str:
    if len(graph.shape) != 3:
        return "input"
    return file.node("Transpose", ["input"], "input.channels_first", perm=[0, 3, 1, 2])


def _channels_last(file: File, name: str, shape: tuple[int, ...]) -> str:
    if len(shape) != 4:
        return name
    return file.node("Transpose", [name], "output.channels_last", perm=[0, 2, 3, 1])
