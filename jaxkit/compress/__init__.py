"""Networks made smaller: their graphs, arrays of small integers, and the arithmetic of those.

`trace` a network, find its integers by `post_training` or `quantization_aware` training, and `simulate` what the
runtime will compute; `jaxkit.export` writes the file. `qdot`, `qconv` and `QuantDense` run small weights in JAX itself.
"""

from jaxkit.compress.affine import dequantize, exact_divide, quantize, requantize
from jaxkit.compress.aware import converted, quantization_aware
from jaxkit.compress.calibrate import Observed, observed
from jaxkit.compress.correction import corrected
from jaxkit.compress.count import Cost, count, total
from jaxkit.compress.dynamic import Dynamic, dynamic_conv, dynamic_dot, dynamic_quantize, quantize_rows
from jaxkit.compress.equalize import equalized
from jaxkit.compress.fake_quant import fake_quant, straight_through
from jaxkit.compress.graph import Graph, Node
from jaxkit.compress.layers import QuantConv, QuantDense
from jaxkit.compress.moments import Moments
from jaxkit.compress.post_training import post_training, value_affines
from jaxkit.compress.products import integer_conv, integer_dot, qconv, qdot, qembed
from jaxkit.compress.qarray import QArray, quantize_array
from jaxkit.compress.quantized import Affine, Layer, Quantized
from jaxkit.compress.report import LayerReport, Report, report
from jaxkit.compress.rounding import quantized_layers
from jaxkit.compress.saved import load_quantized, save_quantized
from jaxkit.compress.sensitivity import switchable, switched
from jaxkit.compress.simulate import simulate, simulate_values
from jaxkit.compress.target import Target, target
from jaxkit.compress.trace import trace

__all__ = [
    "Affine",
    "Cost",
    "Dynamic",
    "Graph",
    "Layer",
    "LayerReport",
    "Moments",
    "Node",
    "Observed",
    "QArray",
    "QuantConv",
    "QuantDense",
    "Quantized",
    "Report",
    "Target",
    "converted",
    "corrected",
    "count",
    "dequantize",
    "dynamic_conv",
    "dynamic_dot",
    "dynamic_quantize",
    "equalized",
    "exact_divide",
    "fake_quant",
    "integer_conv",
    "integer_dot",
    "load_quantized",
    "observed",
    "post_training",
    "qconv",
    "qdot",
    "qembed",
    "quantization_aware",
    "quantize",
    "quantize_array",
    "quantize_rows",
    "quantized_layers",
    "report",
    "requantize",
    "save_quantized",
    "simulate",
    "simulate_values",
    "straight_through",
    "switchable",
    "switched",
    "target",
    "total",
    "trace",
    "value_affines",
]
