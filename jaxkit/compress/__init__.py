"""Networks made smaller: arrays of small integers and their arithmetic."""

from jaxkit.compress.affine import dequantize, exact_divide, quantize, requantize
from jaxkit.compress.qarray import QArray, quantize_array

__all__ = [
    "QArray",
    "dequantize",
    "exact_divide",
    "quantize",
    "quantize_array",
    "requantize",
]
