"""Networks made smaller: their graphs, arrays of small integers, and the arithmetic of those.

`trace` a network, find its integers by `post_training` or `quantization_aware` training, and `simulate` what the runtime
will compute; `jaxkit.export` writes the file.
"""

from jaxkit.compress.affine import dequantize, exact_divide, quantize, requantize
from jaxkit.compress.calibrate import Observed, observed
from jaxkit.compress.correction import corrected
from jaxkit.compress.equalize import equalized
from jaxkit.compress.fake_quant import fake_quant
from jaxkit.compress.graph import Graph, Node
from jaxkit.compress.post_training import post_training, value_affines
from jaxkit.compress.qarray import QArray, quantize_array
from jaxkit.compress.quantized import Affine, Layer, Quantized
from jaxkit.compress.rounding import quantized_layers
from jaxkit.compress.saved import load_quantized, save_quantized
from jaxkit.compress.simulate import simulate, simulate_values
from jaxkit.compress.target import Target, target
from jaxkit.compress.trace import trace

__all__ = [
    "Affine",
    "Graph",
    "Layer",
    "Node",
    "Observed",
    "QArray",
    "Quantized",
    "Target",
    "corrected",
    "dequantize",
    "equalized",
    "exact_divide",
    "fake_quant",
    "load_quantized",
    "observed",
    "post_training",
    "quantize",
    "quantize_array",
    "quantized_layers",
    "requantize",
    "save_quantized",
    "simulate",
    "simulate_values",
    "target",
    "trace",
    "value_affines",
]
