"""Kernels and biases as constants of an ONNX file: real, or small integers and their scales."""

from collections.abc import Sequence

import numpy as np

from jaxkit.compress.graph import Node
from jaxkit.compress.qarray import QArray
from jaxkit.compress.simulate import sums_scale
from jaxkit.export.onnx_file import WITH_BLOCKS, File


def kernel_of(file: File, node: Node, order: Sequence[int], *, shape: Sequence[int] | None = None) -> str:
    """The kernel of a layer with its axes in another order, output channels first; the name of its real values.

    Args:
      order: of the axes.
      shape: to be given to it then. Default: as it is.

    Raises:
      ValueError: if a kernel has scales for blocks of two axes or more.
    """
    layer = None if file.q is None else file.q.layers.get(node.name)
    name = f"{node.name}.kernel"
    if layer is None:
        return file.constant(name, _placed(node.weights["kernel"], order, shape))
    values = _placed(layer.kernel.values(), order, shape)
    scale, settings = _scales(layer.kernel, order, values.ndim)
    if "block_size" in settings:
        file.opset = max(file.opset, WITH_BLOCKS)
    # Kernels of operations on integers are read as bytes: 4 bits would only be unpacked again.
    add = file.small if layer.kernel.bits == 4 and not file.in_integers(node) else file.constant
    held, scales = add(f"{name}.integers", values), file.constant(f"{name}.scale", scale)
    zeros = add(f"{name}.zero_point", np.zeros(scale.shape, np.int8))
    return file.node("DequantizeLinear", [held, scales, zeros], name, **settings)


def _placed(values: np.ndarray, order: Sequence[int], shape: Sequence[int] | None) -> np.ndarray:
    placed = np.asarray(values).transpose(order)
    return placed if shape is None else placed.reshape(shape)


def _scales(kernel: QArray, order: Sequence[int], ndim: int) -> tuple[np.ndarray, dict[str, int]]:
    """Scales as ONNX has them: one, one for each output channel, or one for each block along one more axis."""
    scale = np.asarray(kernel.scale).transpose(order)
    size = tuple(kernel.shape[axis] for axis in order)
    blocks = [axis for axis in range(1, scale.ndim) if scale.shape[axis] > 1]
    if not blocks:
        return (scale.reshape(-1), {"axis": 0}) if scale.size > 1 else (scale.reshape(()), {})
    if len(blocks) > 1:
        raise ValueError(f"ONNX has blocks along one axis of weights; the scales here are of shape {scale.shape}")
    (axis,) = blocks
    every = tuple(1 if i == axis else n for i, n in enumerate(size))
    whole = np.broadcast_to(scale, tuple(scale.shape[i] if i == axis else n for i, n in enumerate(every)))
    whole = whole.reshape(*whole.shape, *(1,) * (ndim - whole.ndim))
    return whole, {"axis": axis, "block_size": size[axis] // scale.shape[axis]}


def bias_of(file: File, node: Node) -> str:
    """The bias of a layer: int32 with the scale of the sums, or real; the name of its real values."""
    layer = None if file.q is None else file.q.layers.get(node.name)
    bias = node.weights["bias"] if layer is None else np.asarray(layer.bias)
    name = f"{node.name}.bias"
    if bias.dtype != np.int32:
        return file.constant(name, np.asarray(bias, np.float32))
    scale = file.constant(f"{name}.scale", np.asarray(sums_scale(file.q, node), np.float32))
    return file.node("DequantizeLinear", [file.constant(f"{name}.integers", bias), scale], name, axis=0)
