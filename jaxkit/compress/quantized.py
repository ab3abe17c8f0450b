"""A network with its integers: what calibration and training make, and simulators and exporters run."""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxkit.compress.graph import Graph, Node
from jaxkit.compress.qarray import QArray
from jaxkit.compress.target import Target

WITH_WEIGHTS = ("conv", "dense")
PASSING = ("max_pool", "reshape")  # these give integers on as they are


class Affine(NamedTuple):
    """The integers of a value: real = (integer - zero_point) * scale.

    Attributes:
      scale: positive.
      zero_point: an integer that the dtype of the target's activations holds.
    """

    scale: np.float32
    zero_point: int


class Layer(NamedTuple):
    """The integers of a convolution or a dense layer.

    Attributes:
      kernel: of the shape of the float one, a scale for each output channel (its last axis) or one for all.
      bias: `[O]`; int32 with the scale `scale of the input * scale of the kernel`, or float32.
    """

    kernel: QArray
    bias: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Quantized:
    """A graph and the integers that stand for its values and weights.

    A value with an entry in `values` is rounded to its integers where it is made. A convolution or dense layer runs in
    integers if it has an entry in `layers`, and its input and its output have one in `values`; any other operation on
    integers runs by the rule that the target has for it. What is missing runs in float: a layer with integers for its
    weights alone multiplies real inputs by `kernel.dequantize()`.

    Attributes:
      graph: in float, with weights as they were before rounding, equalised and with corrected biases.
      values: for names of values, the input's among them.
      layers: for names of nodes.
      target: what runs it.
    """

    graph: Graph
    values: Mapping[str, Affine]
    layers: Mapping[str, Layer]
    target: Target

    def in_integers(self, node: Node) -> bool:
        """Whether a node computes with integers alone."""
        known = all(name in self.values for name in (*node.inputs, node.name))
        return known and (node.op not in WITH_WEIGHTS or node.name in self.layers)
