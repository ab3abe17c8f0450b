"""What each operation of a graph is in ONNX. Values of 4 axes are held as `[N, C, H, W]`, all others as they are."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxkit.compress.graph import Node
from jaxkit.compress.simulate import over_places
from jaxkit.export.onnx_file import File
from jaxkit.export.onnx_weights import bias_of, kernel_of

PICTURE = 4  # axes, N among them
PLACES = (0, 2, 3, 1)  # where ONNX has the axes of pictures


class ValueOf(NamedTuple):
    """A value of the graph in the file: its name in the graph, its tensor, its shape in the graph with N = 1."""

    value: str
    tensor: str
    shape: tuple[int, ...]


def clipped(file: File, node: Node, tensor: str) -> str:
    """The clip of a node and its rounding, in the order that leaves whole operations on integers.

    Where the integers end before the limits do, saturation is the clip. Where they do not, symmetric targets want it
    before the rounding, as they run it with the layer; the others after, as they know no layer with a clip inside.
    """
    limits = node.settings.get("clip")
    if limits is None or _saturates(file, node, limits):
        return file.rounded(node.name, tensor)
    if file.place(node.name) is None or file.q.target.symmetric:
        return file.rounded(node.name, _clip(file, node.name, tensor, limits))
    first = file.rounded(node.name, tensor, ".unclipped")
    return file.rounded(node.name, _clip(file, node.name, first, limits))


def _saturates(file: File, node: Node, limits: tuple) -> bool:
    at = file.place(node.name)
    if at is None:
        return False
    kind = np.iinfo(file.q.target.activations)
    low, high = (None if v is None else np.rint(np.float32(v) / at.scale) + at.zero_point for v in limits)
    return (low is None or low <= kind.min) and (high is None or high >= kind.max)


def _clip(file: File, name: str, tensor: str, limits: tuple) -> str:
    if limits == (0.0, None):
        return file.node("Relu", [tensor], f"{name}.clip")
    pairs = zip(("low", "high"), limits, strict=True)
    ends = ["" if v is None else file.constant(f"{name}.{k}", np.float32(v)) for k, v in pairs]
    return file.node("Clip", [tensor, *ends], f"{name}.clip")


def _conv(file: File, node: Node, inputs: list[ValueOf]) -> str:
    settings, kernel = node.settings, node.weights["kernel"]
    weights = [kernel_of(file, node, (3, 2, 0, 1)), bias_of(file, node)]
    window = {"kernel_shape": kernel.shape[:2], "strides": settings["strides"], "pads": _pads(settings["pads"])}
    others = {"dilations": settings["dilation"], "group": settings["groups"]}
    return file.node("Conv", [inputs[0].tensor, *weights], f"{node.name}.sums", **window, **others)


def _pads(pads: Any) -> list[int]:
    return [before for before, _ in pads] + [after for _, after in pads]


def _dense(file: File, node: Node, inputs: list[ValueOf]) -> str:
    """`Gemm` of rows; pictures by a convolution of one place, other shapes as rows between two reshapes."""
    (x,) = inputs
    size = node.weights["kernel"].shape
    if len(x.shape) == PICTURE:
        weights = [kernel_of(file, node, (1, 0), shape=(size[1], size[0], 1, 1)), bias_of(file, node)]
        return file.node("Conv", [x.tensor, *weights], f"{node.name}.sums", kernel_shape=[1, 1])
    weights = [kernel_of(file, node, (1, 0)), bias_of(file, node)]
    rows = x.tensor if len(x.shape) == 2 else _reshape_to(file, f"{node.name}.rows", x.tensor, (size[0],))
    rows = rows if rows == x.tensor else file.rounded(x.value, rows, f".rows_of_{node.name}")
    sums = file.node("Gemm", [rows, *weights], f"{node.name}.sums", transB=1)
    if rows == x.tensor:
        return sums
    sums = file.rounded(node.name, sums, ".rows_out")
    return _reshape_to(file, f"{node.name}.shaped", sums, (*x.shape[1:-1], size[1]))


def _reshape_to(file: File, name: str, tensor: str, shape: tuple[int, ...]) -> str:
    """A tensor as `[-1, *shape]`."""
    wanted = file.constant("shape_" + "_".join(map(str, shape)), np.array([-1, *shape], np.int64))
    return file.node("Reshape", [tensor, wanted], name)


def _reshape(file: File, node: Node, inputs: list[ValueOf]) -> str:
    return _shaped(file, node.name, inputs[0], tuple(node.settings["shape"]))


def _shaped(file: File, name: str, x: ValueOf, shape: tuple[int, ...]) -> str:
    """A value in another shape, in the order of the graph: transposed where that of the file differs."""
    tensor = _as_in_graph(file, name, x)
    if len(shape) + 1 != PICTURE:
        return _reshape_to(file, f"{name}.shaped", tensor, shape)
    if _same_order((1, *shape)):
        return _reshape_to(file, f"{name}.shaped", tensor, (shape[2], *shape[:2]))
    tensor = file.rounded(x.value, _reshape_to(file, f"{name}.shaped", tensor, shape), f".shaped_for_{name}")
    return file.node("Transpose", [tensor], f"{name}.channels_first", perm=[0, 3, 1, 2])


def _as_in_graph(file: File, name: str, x: ValueOf) -> str:
    if len(x.shape) != PICTURE or _same_order(x.shape):
        return x.tensor
    tensor = file.node("Transpose", [x.tensor], f"{name}.channels_last", perm=[0, 2, 3, 1])
    return file.rounded(x.value, tensor, f".channels_last_for_{name}")


def _same_order(shape: tuple[int, ...]) -> bool:
    """Whether channels first and channels last are the same numbers in the same order."""
    return shape[3] == 1 or math.prod(shape[1:3]) == 1


def _mean(file: File, node: Node, inputs: list[ValueOf]) -> str:
    """`GlobalAveragePool` on integers, which runtimes run as such; else `ReduceMean`."""
    (x,) = inputs
    axes = tuple(node.settings["axes"])
    if not over_places(node, len(x.shape)):
        return _reduced(file, node, _channels_last(file, node, x), axes)
    if not file.in_integers(node):
        return _reduced(file, node, x.tensor, (2, 3))
    pooled = file.rounded(node.name, file.node("GlobalAveragePool", [x.tensor], f"{node.name}.pooled"), ".pooled")
    return _reshape_to(file, f"{node.name}.mean", pooled, x.shape[3:])


def _reduced(file: File, node: Node, tensor: str, axes: tuple[int, ...]) -> str:
    wanted = file.constant("axes_" + "_".join(map(str, axes)), np.array(axes, np.int64))
    return file.node("ReduceMean", [tensor, wanted], f"{node.name}.mean", keepdims=0)


def _channels_last(file: File, node: Node, x: ValueOf) -> str:
    """A value with its axes as in the graph."""
    tensor = _as_in_graph(file, node.name, x)
    if len(x.shape) != PICTURE or tensor != x.tensor:
        return tensor
    return _reshape_to(file, f"{node.name}.channels_last", tensor, x.shape[1:])


def _pool(file: File, node: Node, inputs: list[ValueOf]) -> str:
    (x,), settings = inputs, node.settings
    if len(x.shape) != PICTURE:
        raise ValueError(f"{node.name} pools values of shape {x.shape}; only pictures [N, H, W, C] are written")
    window = {"kernel_shape": settings["window"], "strides": settings["strides"]}
    pads = _pads(settings["pads"])
    if node.op == "max_pool":
        return file.node("MaxPool", [x.tensor], f"{node.name}.pooled", **window, pads=pads)
    tensor = _padded(file, node, x, pads) if any(pads) else x.tensor
    return file.node("AveragePool", [tensor], f"{node.name}.pooled", **window)


def _padded(file: File, node: Node, x: ValueOf, pads: list[int]) -> str:
    """Real zeros around, as a value: else OpenVINO pools with integers of 0 there, whatever the zero point is."""
    around = file.constant(f"{node.name}.pads", np.array([0, 0, *pads[:2], 0, 0, *pads[2:]], np.int64))
    padded = file.node("Pad", [x.tensor, around], f"{node.name}.padded")
    return file.rounded(x.value, padded, f".padded_for_{node.name}")


def _binary(file: File, node: Node, inputs: list[ValueOf]) -> str:
    most = max(len(x.shape) for x in inputs)
    tensors = [_with_axes(file, node, x, most) for x in inputs]
    return file.node(node.op.capitalize(), tensors, f"{node.name}.{node.op}")


def _with_axes(file: File, node: Node, x: ValueOf, most: int) -> str:
    """A value with new axes after N, as gates have."""
    if len(x.shape) == most:
        return x.tensor
    shape = (*(1,) * (most - len(x.shape)), *x.shape[1:])
    return file.rounded(x.value, _shaped(file, f"{node.name}.{x.value}", x, shape), f".for_{node.name}")


def _affine(file: File, node: Node, inputs: list[ValueOf]) -> str:
    tensor = inputs[0].tensor
    for op, name in (("Mul", "scale"), ("Add", "shift")):
        values = np.asarray(node.weights[name])
        if values.ndim and len(inputs[0].shape) == PICTURE:
            values = values.reshape(-1, 1, 1)
        tensor = file.node(op, [tensor, file.constant(f"{node.name}.{op}", values)], f"{node.name}.{op.lower()}")
    return tensor


def _limits(file: File, node: Node, inputs: list[ValueOf]) -> str:
    return _clip(file, node.name, inputs[0].tensor, (node.settings["low"], node.settings["high"]))


def _concat(file: File, node: Node, inputs: list[ValueOf]) -> str:
    rank, axis = len(inputs[0].shape), node.settings["axis"]
    axis = PLACES[axis] if rank == PICTURE else axis
    return file.node("Concat", [x.tensor for x in inputs], f"{node.name}.concat", axis=axis)


def _unary(op: str, **attributes: Any) -> Callable[..., str]:
    def emit(file: File, node: Node, inputs: list[ValueOf]) -> str:
        return file.node(op, [inputs[0].tensor], f"{node.name}.{op.lower()}", **attributes)

    return emit


def _rsqrt(file: File, node: Node, inputs: list[ValueOf]) -> str:
    root = file.node("Sqrt", [inputs[0].tensor], f"{node.name}.sqrt")
    return file.node("Reciprocal", [root], f"{node.name}.reciprocal")


NODES: dict[str, Callable[[File, Node, list[ValueOf]], str]] = {
    **dict.fromkeys(("add", "div", "mul", "sub"), _binary),
    **dict.fromkeys(("avg_pool", "max_pool"), _pool),
    **{op: _unary(op.capitalize()) for op in ("exp", "log", "neg", "sigmoid", "sqrt", "tanh")},
    "affine": _affine,
    "clip": _limits,
    "concat": _concat,
    "conv": _conv,
    "dense": _dense,
    "hard_sigmoid": _unary("HardSigmoid", alpha=1 / 6, beta=0.5),
    "mean": _mean,
    "reshape": _reshape,
    "rsqrt": _rsqrt,
}
