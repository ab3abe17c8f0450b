"""A real network with its published weights on real pictures: every logit of the runtime is that of the simulator."""

import numpy as np
import pytest

from jaxkit.compress import post_training, target
from jaxkit.export import to_onnx, to_openvino
from tests.export.published import crops, lite0


@pytest.fixture(scope="module")
def graph():
    return lite0()


def _top1(artifact, x):
    session = artifact.open(threads=2)
    return np.concatenate([session(x[i : i + 16]) for i in range(0, len(x), 16)]).argmax(1)


def test_int8_is_small_whole_exact_and_right(graph, tmp_path):
    float_file = to_onnx(graph, tmp_path / "float.onnx")
    q = post_training(graph, [crops(16, 0)], target=target("onnxruntime"))
    artifact = to_onnx(q, tmp_path / "int8.onnx")
    assert artifact.size <= 0.27 * float_file.size
    assert not any(count["float"] for count in artifact.coverage().values())
    assert [artifact.coverage()[op]["integer"] for op in ("Conv", "Add", "Gemm")] == [49, 9, 1]
    x = crops(48, 1)
    told = artifact.verify(x, threads=2)
    assert (told.exact, told.count) == (1.0, 48)
    assert np.mean(_top1(artifact, x) == _top1(float_file, x)) >= 0.85


def test_openvino_runs_the_same_files(graph, tmp_path):
    x = crops(16, 2)
    told = to_openvino(graph, tmp_path / "float.onnx").verify(x)
    assert told.largest < 1e-3 and told.top1 == 1
    q = post_training(graph, [x], target=target("openvino"), ranges="minmax", bias_correction=False)
    artifact = to_openvino(q, tmp_path / "int8.onnx")
    assert artifact.coverage()["Convolution"] == {"integer": 49, "float": 0}
    assert artifact.verify(x).largest < 16
