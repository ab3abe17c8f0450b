"""Networks that are small and fast: convolutions that CPUs run well, and the MobileNets made of them.

Flax (nnx) modules over `conv_general_dilated`, which also makes any network of yours fast:
`nnx.Conv(..., conv_general_dilated=jaxkit.nn.conv_general_dilated)`.
"""

from jax.nn import hard_sigmoid, hard_swish

from jaxkit.nn.blocks import ConvNorm, FusedMBConv, InvertedResidual, SeparableConv, SqueezeExcite, make_divisible
from jaxkit.nn.convolution import conv_general_dilated
from jaxkit.nn.efficientnet_lite import EfficientNetLite
from jaxkit.nn.mobilenet import MobileNetV1, MobileNetV2, MobileNetV3
from jaxkit.nn.weights import empty, load_torch

__all__ = [
    "ConvNorm",
    "EfficientNetLite",
    "FusedMBConv",
    "InvertedResidual",
    "MobileNetV1",
    "MobileNetV2",
    "MobileNetV3",
    "SeparableConv",
    "SqueezeExcite",
    "conv_general_dilated",
    "empty",
    "hard_sigmoid",
    "hard_swish",
    "load_torch",
    "make_divisible",
]
