"""Weights from PyTorch state dicts: explicit maps from one name to the other, nothing guessed from shapes."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import nnx

from jaxkit.nn.blocks import ConvNorm, InvertedResidual
from jaxkit.nn.efficientnet_lite import EfficientNetLite

NORM = {"scale": "weight", "bias": "bias", "mean": "running_mean", "var": "running_var"}


def load_efficientnet_lite(model: EfficientNetLite, state: Mapping[str, Any]) -> None:
    """Fills a network with the weights of `efficientnet_lite_pytorch` (padding "same"), in place.

    Args:
      model: of the variant that the weights were trained for.
      state: names to arrays or tensors, such as `torch.load(path)`; kernels `[out, in, height, width]`.

    Raises:
      KeyError: if a name is missing.
      ValueError: if a shape does not fit, or a weight of `state` is left over.
    """
    left = {name: np.asarray(value) for name, value in state.items() if not name.endswith("num_batches_tracked")}
    _fill_conv_norm(model.stem, left, "_conv_stem", "_bn0")
    for index, block in enumerate(model.blocks):
        _fill_block(block, left, f"_blocks.{index}.")
    _fill_conv_norm(model.head, left, "_conv_head", "_bn1")
    _put(model.classify.kernel, left.pop("_fc.weight").T, "_fc.weight")
    _put(model.classify.bias, left.pop("_fc.bias"), "_fc.bias")
    if left:
        raise ValueError(f"weights of another network: {', '.join(sorted(left)[:5])} have no place here")


def _fill_block(block: InvertedResidual, left: dict, prefix: str) -> None:
    if block.expand is not None:
        _fill_conv_norm(block.expand, left, f"{prefix}_expand_conv", f"{prefix}_bn0")
    _fill_conv_norm(block.depthwise, left, f"{prefix}_depthwise_conv", f"{prefix}_bn1")
    _fill_conv_norm(block.project, left, f"{prefix}_project_conv", f"{prefix}_bn2")


def _fill_conv_norm(layer: ConvNorm, left: dict, conv: str, norm: str) -> None:
    _put(layer.conv.kernel, left.pop(f"{conv}.weight").transpose(2, 3, 1, 0), f"{conv}.weight")
    for ours, theirs in NORM.items():
        _put(getattr(layer.norm, ours), left.pop(f"{norm}.{theirs}"), f"{norm}.{theirs}")


def _put(variable: nnx.Variable, value: np.ndarray, name: str) -> None:
    if variable.shape != value.shape:
        raise ValueError(f"{name} has shape {value.shape}, the network wants {variable.shape}")
    variable[...] = jnp.asarray(value, variable.dtype)
