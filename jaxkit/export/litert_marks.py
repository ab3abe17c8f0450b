"""A network as the program that LiteRT's converter reads well: XLA's own operations, and marks where integers are.

A mark is a composite `quant.fake_quant`, which the converter turns into QUANTIZE, DEQUANTIZE, or nothing between two
operations that compute on integers.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxkit.compress.graph import LAYOUT, Graph, Node, evaluate
from jaxkit.compress.quantized import Affine, Quantized
from jaxkit.compress.simulate import per_channel

Array = jax.Array
PASSING = ("clip", "concat", "max_pool", "reshape")
ROUNDED_TWICE = ("avg_pool", "div", "sqrt")
FUSED = ((0.0, None), (0.0, 6.0), (-1.0, 1.0))


def marked(network: Graph | Quantized) -> Callable[[Array], Array]:
    """A network as a function of `[N, *shape]` that is meant to be exported, not to be run.

    Convolutions stay in XLA's form, which the converter knows; those that are fast on CPUs it would not recognise.
    """
    q = network if isinstance(network, Quantized) else None
    graph = network.graph if isinstance(network, Quantized) else network
    at = q.values if q else {}

    def run(x: Array) -> Array:
        found = {graph.input: _held(x, at.get(graph.input))}
        for node in graph.nodes:
            inputs = [found[name] for name in node.inputs]
            found[node.name] = _computed(node, inputs, q)
        return found[graph.output]

    return run


def _computed(node: Node, inputs: list[Array], q: Quantized | None) -> Array:
    at = q.values.get(node.name) if q else None
    plain = node.replace(settings={**node.settings, "clip": None})
    if node.op in ("conv", "dense"):
        out = _weighted(plain, inputs[0], *_weights(node, q))
    else:
        plain, inputs = _padded(plain, inputs, q)
        out = evaluate(plain, [lax.optimization_barrier(x) for x in inputs] if _apart(node, at, q) else inputs)
    limits = node.settings.get("clip")
    if limits is not None:
        # A clip that no kernel fuses would leave what is before it in float; rounding before it changes no result.
        out = out if tuple(limits) in FUSED else _held(out, at)
        out = _clipped(out, limits)
    return _held(out, at)


def _padded(node: Node, inputs: list[Array], q: Quantized | None) -> tuple[Node, list[Array]]:
    """A pool without pads and an input that has them: the converter takes pads of one axis for those of both."""
    pads = node.settings.get("pads", ()) if node.op in ("max_pool", "avg_pool") else ()
    if not any(after for pair in pads for after in pair):
        return node, inputs
    at = q.values.get(node.inputs[0]) if q else None
    lowest = -np.inf if at is None else np.float32(-128 - at.zero_point) * at.scale
    fill = np.float32(0) if node.op == "avg_pool" else np.float32(lowest)
    x = jnp.pad(inputs[0], ((0, 0), *pads, (0, 0)), constant_values=fill)
    return node.replace(settings={**node.settings, "pads": ((0, 0),) * len(pads)}), [_held(x, at)]


def _apart(node: Node, at: Affine | None, q: Quantized | None) -> bool:
    """Whether a node must run in float between integers, as its int8 kernel rounds more than once.

    The converter joins an operation with the marks around it, but not across a barrier, of which nothing remains.
    """
    if node.op in PASSING:
        return at is not None and any(q.values.get(name) != at for name in node.inputs)
    return node.op in ROUNDED_TWICE


def _weighted(node: Node, x: Array, kernel: Array, bias: Array) -> Array:
    if node.op == "dense":
        out = x @ kernel
    else:
        s = node.settings
        shape = {"rhs_dilation": s["dilation"], "feature_group_count": s["groups"], "dimension_numbers": LAYOUT}
        out = lax.conv_general_dilated(x, kernel, s["strides"], s["pads"], **shape)
    return out + jnp.broadcast_to(bias, out.shape)


def _weights(node: Node, q: Quantized | None) -> tuple[Array, Array]:
    layer = q.layers.get(node.name) if q else None
    if layer is None:
        return jnp.asarray(node.weights["kernel"]), jnp.asarray(node.weights["bias"])
    scale = np.asarray(per_channel(np.asarray(layer.kernel.scale), layer.kernel.shape[-1]), np.float32)
    kernel = _mark(layer.kernel.dequantize(), scale, 0, quantization_dimension=len(layer.kernel.shape) - 1)
    if layer.bias.dtype != np.int32:
        return kernel, jnp.asarray(layer.bias)
    # Real numbers: the converter rounds them to its int32. `sealed` puts ours there, as float32 does not hold all.
    return kernel, jnp.asarray(layer.bias.astype(np.float32) * (q.values[node.inputs[0]].scale * scale))


def _clipped(x: Array, limits: tuple[float | None, float | None]) -> Array:
    low, high = limits
    x = x if low is None else jnp.maximum(x, jnp.float32(low))
    return x if high is None else jnp.minimum(x, jnp.float32(high))


def _held(x: Array, at: Affine | None) -> Array:
    return x if at is None else _mark(x, np.float32(at.scale).reshape(1), int(at.zero_point))


def _mark(x: Array, scale: np.ndarray, zero_point: int, **channels: int) -> Array:
    def unchanged(x: Array, **attributes: Any) -> Array:
        del attributes
        return x

    zeros = np.full(scale.shape, zero_point, np.int64)
    attributes = {"scale": scale, "zero_point": zeros, "dtype": "i8", "narrow_range": bool(channels), **channels}
    return lax.composite(unchanged, "quant.fake_quant")(x, **attributes)
