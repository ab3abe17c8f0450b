"""The quantizer that comes with ONNX Runtime, on an ONNX file of the network in float."""

import tempfile
from pathlib import Path

import numpy as np
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

METHODS = {
    "minmax": quantization.CalibrationMethod.MinMax,
    "entropy": quantization.CalibrationMethod.Entropy,
    "percentile": quantization.CalibrationMethod.Percentile,
}


class Pictures:
    """What the tool reads inputs from (its `CalibrationDataReader`), one picture at a time."""

    def __init__(self, pictures: np.ndarray, name: str):
        self._left = iter([{name: one[None]} for one in pictures])

    def get_next(self) -> dict | None:
        return next(self._left, None)


def quantize(*, model: str, pictures: str, output: str, method: str, reduce_range: bool, per_channel: bool) -> None:
    """Writes an ONNX file with uint8 values and int8 weights between `QuantizeLinear` and `DequantizeLinear`."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = str(Path(folder) / "prepared.onnx")
        quant_pre_process(model, prepared)
        quantization.quantize_static(
            prepared,
            output,
            Pictures(np.load(pictures), "input"),
            calibrate_method=METHODS[method],
            per_channel=per_channel,
            reduce_range=reduce_range,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
        )
