"""Second moments of what layers multiply: how errors of one weight can be made up for by others.

What one output of a layer multiplies is a patch: the places under the kernel times its input channels, K numbers.
Rounding that looks at whole patches (Frantar et al., "GPTQ", 2022) needs the mean of their products alone, so memory
is K * K for a layer, whatever the number of examples.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxkit.compress.graph import Graph, Node
from jaxkit.compress.quantized import WITH_WEIGHTS

WIDEST = 2304  # of patches: a kernel of 3 x 3 over 256 channels. Moments of wider ones would take 100 MB and more.
NOISE = 1e-4
PLACES = 256  # of an example, about; neighbouring patches are alike
FEW_PLACES = 64  # of an example of which each channel has a small matrix of its own


class Moments(NamedTuple):
    """Means over examples and places of the patches that a layer multiplies.

    Attributes:
      mean: of the patches, `[groups, K]`, in the order of the kernel: places, then input channels of the group.
      second: of their products, `[groups, K, K]`.
    """

    mean: np.ndarray
    second: np.ndarray

    @property
    def covariance(self) -> np.ndarray:
        """Mean products of the patches about their mean, `[groups, K, K]`.

        A ten-thousandth of the mean square is added to the diagonal. Otherwise nothing but the noise of float32 would
        be left where patches hardly differ, as of a single example.
        """
        square = np.einsum("gkk->g", self.second) / self.second.shape[-1]
        ridge = NOISE * square[:, None, None] * np.eye(self.second.shape[-1])
        return self.second - self.mean[:, :, None] * self.mean[:, None, :] + ridge


def has_moments(node: Node) -> bool:
    """Whether a node is a convolution or dense layer whose patches are not wider than `WIDEST`."""
    return node.op in WITH_WEIGHTS and math.prod(node.weights["kernel"].shape[:-1]) <= WIDEST


def patch_moments(graph: Graph, values: Mapping[str, np.ndarray]) -> dict[str, Moments]:
    """The moments of the layers of a graph, summed over examples; see `has_moments`.

    On the host: the library under NumPy multiplies as fast, and nothing has to be compiled for every layer.

    Args:
      graph: in float.
      values: of one batch, float32 `[n, ...]` by their names.

    Returns:
      `Moments` in float64 for the names of nodes.
    """
    return {node.name: _moments(patches(node, values[node.inputs[0]])) for node in filter(has_moments, graph.nodes)}


def _moments(rows: np.ndarray) -> Moments:
    by_group = np.ascontiguousarray(rows.reshape(-1, *rows.shape[2:]).swapaxes(0, 1))
    second = by_group.swapaxes(1, 2) @ by_group
    places = np.float64(rows.shape[1])
    return Moments(by_group.sum(axis=1, dtype=np.float64) / places, second / places)


def patches(node: Node, x: np.ndarray) -> np.ndarray:
    """What the outputs of a layer multiply, of a convolution about `PLACES` of an example, evenly spread.

    Args:
      node: a convolution or dense layer.
      x: its input, `[n, ..., I]`.

    Returns:
      `[n, places, groups, K]`.
    """
    if node.op == "dense":
        return x.reshape(len(x), math.prod(x.shape[1:-1]), 1, x.shape[-1])
    settings, kernel = node.settings, node.weights["kernel"].shape
    x = np.pad(x, ((0, 0), *settings["pads"], (0, 0)))
    spans = [n - (k - 1) * d for n, k, d in zip(x.shape[1:-1], kernel, settings["dilation"], strict=False)]
    strides = _thinned(spans, settings["strides"], FEW_PLACES if kernel[-2] == 1 else PLACES)
    taps = []
    for tap in np.ndindex(*kernel[:-2]):
        starts = [at * d for at, d in zip(tap, settings["dilation"], strict=True)]
        part = (slice(a, a + span, s) for a, span, s in zip(starts, spans, strides, strict=True))
        taps.append(x[:, *part].reshape(len(x), -1, settings["groups"], kernel[-2]))
    return np.concatenate(taps, axis=-1)


def _thinned(spans: list[int], strides: tuple[int, ...], wanted: int) -> tuple[int, ...]:
    places = math.prod(math.ceil(span / stride) for span, stride in zip(spans, strides, strict=True))
    times = max(round((places / wanted) ** (1 / len(strides))), 1)
    return tuple(stride * times for stride in strides)
