"""NNCF, OpenVINO's quantizer, on an ONNX file of the network in float. It writes OpenVINO's own files."""

import sys

import numpy as np

# Telemetry calls home, which does not belong into a benchmark.
sys.modules.setdefault("openvino_telemetry", None)

import nncf  # noqa: E402
import openvino  # noqa: E402


def quantize(*, model: str, pictures: str, output: str, method: str) -> None:
    """Writes an `.xml` file and a `.bin` file beside it.

    Args:
      method: "default", or "overflow fix" with 7 bits for all weights.
    """
    given = np.load(pictures)
    settings = {}
    if method == "overflow fix":
        fix = nncf.quantization.advanced_parameters.OverflowFix.ENABLE
        settings["advanced_parameters"] = nncf.AdvancedQuantizationParameters(overflow_fix=fix)
    data = nncf.Dataset([one[None] for one in given])
    made = nncf.quantize(openvino.Core().read_model(model), data, subset_size=len(given), **settings)
    openvino.save_model(made, output, compress_to_fp16=False)
