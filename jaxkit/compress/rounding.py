"""Which integers stand for which real values: of activations by their ranges, of weights by their channels."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxkit.compress.affine import exact_divide
from jaxkit.compress.compensated import compensated
from jaxkit.compress.graph import Graph, Node
from jaxkit.compress.qarray import QArray
from jaxkit.compress.quantized import WITH_WEIGHTS, Affine, Layer
from jaxkit.compress.target import Target
from jaxkit.ranges import one_of_names

WEIGHTS = ("channel", "tensor")
ON_HOST = (np.ndarray, np.generic, float, type(None))
MOST = 127  # of a weight: -128 has no counterpart
SMALLEST = np.float32(2.0**-60)  # a product of two such scales is still a normal float
# Far below 2**31: sums keep room beside a bias, float32 holds it, and half of its step is nothing beside it.
LARGEST_BIAS = 2.0**24


def affine(low: float, high: float, *, target: Target) -> Affine:
    """The scale and zero point of values in a range.

    Args:
      low, high: the ends, widened to contain 0, which gets an integer of its own.
      target: int8 or uint8, with a zero point or symmetric.

    Returns:
      An `Affine`; its scale is 1 where the range is nothing but 0.

    Raises:
      ValueError: if an end is not finite, or `low` is above `high`.
    """
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ValueError(f"a range must be finite with low <= high, got ({low!r}, {high!r})")
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    info = np.iinfo(target.activations)
    scale = max(high, -low) / info.max if target.symmetric else (high - low) / (int(info.max) - int(info.min))
    if scale < SMALLEST:
        return Affine(np.float32(1.0), 0 if target.symmetric else int(info.min))
    zero = 0 if target.symmetric else int(np.clip(np.rint(info.min - low / scale), info.min, info.max))
    return Affine(np.float32(scale), zero)


def weight_scales(kernel: Any, bias: Any, input_scale: Any, *, target: Target, weights: str = "channel") -> Any:
    """Scales of a layer's symmetric weights, safe for the sums that the target makes of them.

    A scale is the largest magnitude over 127. It is raised

    - to the largest sum of two weights of one sign over 127 where the target's kernels add two products in int16. Any
      two integers of a channel then sum to at most 128 in magnitude, after rounding, and 255 * 128 < 2**15: nothing
      can saturate, whatever the order in which a kernel pairs them. Weights of two signs work against each other,
      since the values that they meet are unsigned;
    - until the bias, which has the scale of the sums, is an integer of at most 2**24. A dead channel, whose weights
      are zero or next to it, so keeps its bias.

    Pure, and exactly rounded on arrays of NumPy as within a compiled function.

    Args:
      kernel: float32 `[..., O]`.
      bias: float32 `[O]`.
      input_scale: of the values that come in; None where those are real.
      target: what will run the layer.
      weights: "channel": a scale for each output channel; "tensor": one for all.

    Returns:
      float32 `[1, ..., O]`, or `[1, ..., 1]`; positive, finite and normal.

    Raises:
      ValueError: if there is no such choice of `weights`.
    """
    one_of_names("weights", weights, WEIGHTS)
    host = np if all(isinstance(x, ON_HOST) for x in (kernel, bias, input_scale)) else jnp
    scale = _largest(host, kernel, target.pairs_saturate) * np.float32(1 / MOST)
    if input_scale is not None and target.bias == "int32":
        step = host.abs(bias) * np.float32(1 / LARGEST_BIAS)
        scale = host.maximum(scale, _divided(host, step, input_scale))
    if weights == "tensor":
        scale = host.max(scale, keepdims=True)
    scale = host.where(scale < SMALLEST, np.float32(1.0), scale)
    return scale.reshape((1,) * (kernel.ndim - 1) + scale.shape)


def _largest(host: Any, kernel: Any, pairs: bool) -> Any:
    """The largest magnitude of every output channel, or the largest sum of two weights of one sign; `[O]`."""
    rows = kernel.reshape(-1, kernel.shape[-1])
    if not pairs or len(rows) == 1:
        return host.max(host.abs(rows), axis=0)
    return host.maximum(*(_two_largest(host, host.maximum(signed, 0)) for signed in (rows, -rows)))


def _two_largest(host: Any, rows: Any) -> Any:
    if host is np:
        return np.partition(rows, -2, axis=0)[-2:].sum(axis=0)
    return lax.top_k(rows.T, 2)[0].sum(axis=1)


def _divided(host: Any, x: Any, scale: Any) -> Any:
    if host is np:
        return np.divide(x, np.float32(scale), dtype=np.float32)
    return exact_divide(jnp.asarray(x), jnp.asarray(scale))


def weight_limits(steps: np.ndarray, *, target: Target) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest integer that each weight of a layer may become, whatever the others become.

    Where the target's kernels add two products in int16, any two of a channel still sum to at most 128 in magnitude:
    all may reach 64, or the largest one its next integer and the others what that leaves. The nearest integers of
    weights that have scales of `weight_scales` are within these limits.

    Args:
      steps: `[..., O]`, weights over their scale.
      target: what will run the layer.

    Returns:
      Two arrays of the weights' shape.
    """
    rows = steps.reshape(-1, steps.shape[-1])
    if not target.pairs_saturate or len(rows) == 1:
        high = np.full(steps.shape, MOST)
        return -high, high
    high, low = (_shared(signed).reshape(steps.shape) for signed in (rows, -rows))
    return -low, high


def _shared(rows: np.ndarray) -> np.ndarray:
    # Sums of two that are 127 but for the rounding of their scale must not pass for more.
    most = np.clip(np.ceil(rows.max(axis=0) - 1e-3), (MOST + 1) // 2, MOST)
    return np.where(np.arange(len(rows))[:, None] == rows.argmax(axis=0), most, MOST + 1 - most)


def quantized_layers(
    graph: Graph,
    values: Mapping[str, Affine],
    *,
    target: Target,
    weights: str = "channel",
    products: Mapping[str, np.ndarray] | None = None,
) -> dict[str, Layer]:
    """The integer weights and biases of all convolutions and dense layers of a graph.

    Args:
      graph: in float.
      values: scales of the layers' inputs. A layer whose input has none keeps a bias of float32.
      target: what will run it.
      weights: "channel": a scale for each output channel; "tensor": one for all.
      products: mean products of what layers multiply, `[groups, K, K]`, for the names of those whose weights make up
        for each other's errors; see `compensated`. The weights of others become the nearest integers.

    Returns:
      A `Layer` for the name of every such node.

    Raises:
      ValueError: if weights are not finite, or there is no such choice of `weights`.
    """
    found = {}
    for node in (node for node in graph.nodes if node.op in WITH_WEIGHTS):
        settings = {"target": target, "weights": weights, "products": (products or {}).get(node.name)}
        found[node.name] = quantized_layer(node, values.get(node.inputs[0]), **settings)
    return found


def quantized_layer(
    node: Node,
    at: Affine | None,
    *,
    target: Target,
    weights: str = "channel",
    products: np.ndarray | None = None,
) -> Layer:
    """The integers of one layer, whose input has the scale `at` or is real; see `quantized_layers`.

    Raises:
      ValueError: if weights are not finite.
    """
    kernel, bias = (np.asarray(node.weights[name], np.float32) for name in ("kernel", "bias"))
    if not (np.isfinite(kernel).all() and np.isfinite(bias).all()):
        raise ValueError(f"{node.name} has weights that are not finite; a network must be trained before it is rounded")
    step = None if at is None else np.float32(at.scale)
    scale = weight_scales(kernel, bias, step, target=target, weights=weights)
    if products is None:
        integers = np.clip(np.rint(kernel / scale), -MOST, MOST)
    else:
        steps = kernel.astype(np.float64) / scale
        integers = compensated(steps, products, *weight_limits(steps, target=target))
    return Layer(QArray(integers.astype(np.int8), scale, kernel.shape), _bias(bias, at, scale, target))


def with_biases(
    graph: Graph, values: Mapping[str, Affine], layers: Mapping[str, Layer], *, target: Target
) -> dict[str, Layer]:
    """Layers with their kernels and the biases of a graph, such as `corrected` ones; see `quantized_layers`."""
    found = {}
    for node in (node for node in graph.nodes if node.name in layers):
        kernel = layers[node.name].kernel
        bias = _bias(np.float32(node.weights["bias"]), values.get(node.inputs[0]), np.asarray(kernel.scale), target)
        found[node.name] = Layer(kernel, bias)
    return found


def _bias(bias: np.ndarray, at: Affine | None, scale: np.ndarray, target: Target) -> np.ndarray:
    if at is None or target.bias != "int32":
        return bias
    return bias_integers(bias, np.float32(at.scale), scale)


def bias_integers(bias: np.ndarray, input_scale: np.float32, scale: np.ndarray) -> np.ndarray:
    """A bias in units of the sums, `input_scale * scale` rounded to float32 as the runtimes have it.

    Args:
      bias: float32 `[O]`.
      input_scale: of the layer's input.
      scale: of the kernel, `[..., O or 1]` as `weight_scales` makes it.

    Returns:
      int32 `[O]`.
    """
    unit = (input_scale * scale.reshape(-1)).astype(np.float64)
    return np.rint(bias.astype(np.float64) / unit).astype(np.int32)
