"""Networks made smaller: their graphs, arrays of small integers, and the arithmetic of those."""

from jaxkit.compress.affine import dequantize, exact_divide, quantize, requantize
from jaxkit.compress.graph import Graph, Node
from jaxkit.compress.qarray import QArray, quantize_array
from jaxkit.compress.quantized import Affine, Layer, Quantized
from jaxkit.compress.target import Target, target
from jaxkit.compress.trace import trace

__all__ = [
    "Affine",
    "Graph",
    "Layer",
    "Node",
    "QArray",
    "Quantized",
    "Target",
    "dequantize",
    "exact_divide",
    "quantize",
    "quantize_array",
    "requantize",
    "target",
    "trace",
]
