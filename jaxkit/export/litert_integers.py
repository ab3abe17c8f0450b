"""The integers of a network in a TFLite file, to the last bit."""

from typing import Any

import numpy as np

from jaxkit.compress.quantized import WITH_WEIGHTS, Quantized
from jaxkit.compress.simulate import per_channel

Array = np.ndarray


def sealed(file: bytes, places: list[dict[str, Any]], q: Quantized) -> bytes:
    """A file in which every layer on integers has the kernel, the scales and the bias of the network.

    The converter rounds real biases, of which float32 holds 24 bits; here they get all of their 32.

    Args:
      file: what the converter made.
      places: of its layers, by `litert_worker.layers`.
      q: the network.

    Raises:
      ValueError: if a layer is not in the file with its own integers.
    """
    content, left = bytearray(file), list(places)
    for node in q.graph.nodes:
        if node.op not in WITH_WEIGHTS or not q.in_integers(node):
            continue
        layer, scale = q.layers[node.name], q.values[node.inputs[0]].scale
        own = np.asarray(per_channel(np.asarray(layer.kernel.scale), layer.kernel.shape[-1]), np.float32)
        kernel = _channels_first(np.asarray(layer.kernel.values()))
        same = [p for p in left if _holds(content, p["kernel"], kernel) and np.array_equal(_scales(p["kernel"]), own)]
        if not same:
            raise ValueError(f"the converter did not keep the integers of {node.name}: no int8 kernel equals its own")
        chosen = min(same, key=lambda p: _distance(content, p["bias"], layer.bias))
        left.remove(chosen)
        _put_bias(content, chosen["bias"], layer.bias, own * scale, node.name)
    return bytes(content)


def _channels_first(kernel: Array) -> bytes:
    """A kernel `[..., I, O]` as TFLite stores it: `[O, ..., I]`, a depthwise one `[1, h, w, O]`."""
    depthwise = kernel.ndim > 2 and kernel.shape[-2] == 1 and kernel.shape[-1] > 1
    return (kernel if depthwise else np.moveaxis(kernel, -1, 0)).tobytes()


def _holds(content: bytearray, place: dict[str, Any], wanted: bytes) -> bool:
    return content[place["start"] : place["stop"]] == wanted


def _scales(place: dict[str, Any]) -> Array:
    return np.asarray(place["scale"], np.float32)


def _distance(content: bytearray, place: dict[str, Any] | None, bias: Array) -> float:
    found = np.zeros(1, np.int32) if place is None else np.frombuffer(content[place["start"] : place["stop"]], np.int32)
    return float(np.abs(found.astype(np.float64) - bias).max())


def _put_bias(content: bytearray, place: dict[str, Any] | None, bias: Array, scale: Array, name: str) -> None:
    if place is None and not bias.any():
        return
    if place is None or place["stop"] - place["start"] != bias.nbytes or not np.array_equal(_scales(place), scale):
        raise ValueError(f"the converter did not keep the bias of {name} with the scale of its sums")
    content[place["start"] : place["stop"]] = bias.astype("<i4").tobytes()
