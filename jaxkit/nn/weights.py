"""Weights from PyTorch state dicts: explicit maps from one name to the other, nothing guessed from shapes."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from jaxkit.nn.blocks import ConvNorm
from jaxkit.nn.efficientnet_lite import EfficientNetLite
from jaxkit.nn.mobilenet import MobileNetV1, MobileNetV2, MobileNetV3
from jaxkit.nn.weight_names import LAYOUTS, Row, layout_of

NORM = {"scale": "weight", "bias": "bias", "mean": "running_mean", "var": "running_var"}
Network = MobileNetV1 | MobileNetV2 | MobileNetV3 | EfficientNetLite


def load_torch(model: Network, state: Mapping[str, Any]) -> None:
    """Fills a network with weights that PyTorch trained, in place. The names say which library wrote them.

    | network | library | padding | epsilon |
    | --- | --- | --- | --- |
    | EfficientNetLite | efficientnet_lite_pytorch; timm `tf_efficientnet_lite*` | same | 1e-3 |
    | EfficientNetLite | timm `efficientnet_lite*` | torch | 1e-5 |
    | MobileNetV1, V2 | transformers | same | 1e-3 |
    | MobileNetV1, V2, V3 | timm `mobilenetv*` | torch | 1e-5 |
    | MobileNetV2 | torchvision | torch | 1e-5 |
    | MobileNetV3 | torchvision | torch | 1e-3 |
    | MobileNetV3 | timm `tf_mobilenetv3*` | same | 1e-3 |

    Args:
      model: of the variant, width, padding and epsilon that the weights were trained for.
      state: names to arrays or tensors, such as `torch.load(path)`; kernels `[out, in, height, width]`.

    Raises:
      KeyError: if a name is missing.
      ValueError: if the names are of no library above, a shape does not fit, a weight of `state` is left over, or the
        network was built with another padding or epsilon than such weights always have.
    """
    left = {name: np.asarray(value) for name, value in state.items() if not name.endswith("num_batches_tracked")}
    layout = layout_of(model, left)
    names, padding, epsilon = LAYOUTS[type(model).__name__, layout]
    _same_convention(model.stem, layout, padding, epsilon)
    _fill(names(model, left), left)
    if left:
        raise ValueError(f"weights of another network: {', '.join(sorted(left)[:5])} have no place here")


def empty(build: Callable[[], nnx.Module]) -> nnx.Module:
    """A module full of zeros, to be filled with weights: drawing them first compiles for half a minute.

    Args:
      build: makes the module, such as `lambda: EfficientNetLite(rngs=nnx.Rngs(0))`.
    """
    definition, state = nnx.split(nnx.eval_shape(build))
    return nnx.merge(definition, jax.tree.map(_zeros, state))


def _zeros(leaf: jax.ShapeDtypeStruct) -> jax.Array:
    if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jnp.broadcast_to(jax.random.key(0), leaf.shape)
    return jax.device_put(np.zeros(leaf.shape, leaf.dtype))


def _fill(rows: Iterator[Row], left: dict) -> None:
    for module, *names in rows:
        if isinstance(module, ConvNorm):
            _fill_conv_norm(module, left, *names)
        else:
            _fill_linear(module, left, *names)


def _fill_conv_norm(layer: ConvNorm, left: dict, conv: str, norm: str) -> None:
    _put(layer.conv.kernel, left, f"{conv}.weight", lambda kernel: kernel.transpose(2, 3, 1, 0))
    for ours, theirs in NORM.items():
        _put(getattr(layer.norm, ours), left, f"{norm}.{theirs}")


def _fill_linear(layer: nnx.Linear, left: dict, name: str) -> None:
    """Gates and heads are convolutions of one place in some libraries: `[out, in, 1, 1]`."""
    _put(layer.kernel, left, f"{name}.weight", lambda kernel: kernel.reshape(kernel.shape[:2]).T)
    _put(layer.bias, left, f"{name}.bias")


def _put(variable: nnx.Variable, left: dict, name: str, turned: Callable[[Any], Any] = lambda value: value) -> None:
    value = left.pop(name)
    turned_value = turned(value)
    if variable.shape != turned_value.shape:
        raise ValueError(f"{name} has shape {value.shape}, the network wants {variable.shape}")
    variable[...] = jnp.asarray(turned_value, variable.dtype)


def _same_convention(stem: ConvNorm, layout: str, padding: str | None, epsilon: float | None) -> None:
    found = "same" if stem.conv.padding == "SAME" else "torch"
    if padding not in (None, found):
        raise ValueError(f"{layout}'s weights want padding={padding!r}, the network was built with {found!r}")
    if epsilon not in (None, stem.norm.epsilon):
        raise ValueError(f"{layout}'s weights want epsilon={epsilon}, the network was built with {stem.norm.epsilon}")
