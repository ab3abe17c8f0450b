"""Channels and operations of a quantized network that deserve a look."""

import numpy as np

from jaxkit.compress.quantized import WITH_WEIGHTS, Layer, Quantized
from jaxkit.compress.rounding import LARGEST_BIAS, MOST

PAIR = MOST + 1  # of two integers whose real sum is 127 at most: each is rounded by half a step at most
NEARLY = 1 - 2.0**-16


def saturating(q: Quantized, name: str) -> int:
    """Channels of a layer whose products may saturate: two of its weights of one sign sum to more than 128.

    `vpmaddubsw` adds `x * a + y * b` in int16, where x and y are at most 255. Zero where the kernels of the target do
    not work so.
    """
    layer = q.layers.get(name)
    if layer is None or not q.target.pairs_saturate:
        return 0
    rows = _rows(layer)
    if len(rows) == 1:
        return 0
    sums = [np.sort(np.maximum(signed, 0), axis=0)[-2:].sum(axis=0) for signed in (rows, -rows)]
    return int(np.sum(np.maximum(*sums) > PAIR))


def dead(layer: Layer) -> int:
    """Channels of a layer whose integers are all zero: their output is the bias, whatever comes in."""
    return int(np.sum(~_rows(layer).any(axis=0)))


def raised(layer: Layer) -> int:
    """Channels whose bias is as large as it may be: the scale of their weights was raised to make room for it."""
    if layer.bias.dtype != np.int32:
        return 0
    return int(np.sum(np.abs(layer.bias.astype(np.int64)) >= LARGEST_BIAS * NEARLY))


def float_islands(q: Quantized) -> list[str]:
    """The names of the nodes that run in float."""
    return [node.name for node in q.graph.nodes if not q.in_integers(node)]


def why_float(q: Quantized, name: str) -> str:
    """What a node that runs in float lacks."""
    node = next(node for node in q.graph.nodes if node.name == name)
    if node.op in WITH_WEIGHTS and name not in q.layers:
        return "excluded"
    real = [taken for taken in node.inputs if taken not in q.values]
    return f"{', '.join(real)} is real" if real else "its result is real"


def _rows(layer: Layer) -> np.ndarray:
    """The integers of a layer, int16 `[places, channels]`."""
    kernel = np.asarray(layer.kernel.values(), np.int16)
    return kernel.reshape(-1, kernel.shape[-1])
