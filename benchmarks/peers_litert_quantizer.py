"""Google's quantizer for LiteRT files, the successor of `tf.lite.Optimize.DEFAULT`, on a file of the network in float.

It goes without TensorFlow where it is installed without what it asks for, see `bench_networks`.
"""

import numpy as np
from litert_quantizer import quantizer, recipe

RECIPES = {
    "dynamic": recipe.dynamic_wi8_afp32,
    "static": recipe.static_wi8_ai8,
    "static, 16-bit values": recipe.static_wi8_ai16,
}


def quantize(*, model: str, pictures: str, output: str, method: str) -> None:
    """Writes a `.tflite` file."""
    tool = quantizer.Quantizer(model, RECIPES[method]())
    found = None
    if tool.need_calibration:
        found = tool.calibrate({"serving_default": [{"x": one[None]} for one in np.load(pictures)]})
    tool.quantize(found).export_model(output, overwrite=True)
