"""A quantized network in JAX, bit for bit as its runtime computes it.

How the result of an operation on integers compares with that of the runtime (ONNX Runtime 1.32 and LiteRT 2.3
on x86, all measured):

| operation | rule | agreement |
| --- | --- | --- |
| conv, dense | exact sums, one float32 product, half to even | every bit |
| add | ONNX Runtime: fused ratios, a folded constant; LiteRT: fixed point; others: the real sum, divided | every bit |
| sub | LiteRT: as add; others: float between integers | every bit; one step |
| mul | ONNX Runtime: the zero point before rounding; others: after | every bit |
| mean over `[N, H, W, C]`'s places; LiteRT: all | exact sum, one product or one division | every bit |
| max_pool, reshape, concat, clip | float, which changes no integer that it does not round | every bit |
| avg_pool | ONNX Runtime: real sums in order, the zero point before rounding; others: float | every bit; one step |
| hard_sigmoid | ONNX Runtime: a product and a sum; others: float between integers | every bit; one step |
| sigmoid, tanh, affine, div, exp, log, sqrt, rsqrt, neg, other means | float between integers | \
one step, at a tie where the last bits of the two floats differ |

Where `Quantized` has no integers for a value, the operation runs in float and agrees as floats do. OpenVINO has no
published arithmetic; its results differ by a few steps.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.compress import integer, litert_rules
from jaxkit.compress.affine import along
from jaxkit.compress.graph import BINARY, OPERATIONS, UNARY, Node, evaluate
from jaxkit.compress.quantized import WITH_WEIGHTS, Quantized

Array = jax.Array


def simulate(q: Quantized) -> Callable[[Array], Array]:
    """The network as a function of real inputs that computes with integers as the target does.

    Args:
      q: what calibration or training made.

    Returns:
      A function of float32 `[N, *shape]` to the real values of the output, float32. It can be compiled and mapped; the
      result for an example does not depend on the others.

    Raises:
      ValueError: if an operation has no rule.
    """
    run = _runner(q)
    output = q.graph.output
    return lambda x: real_value(q, output, run(x)[output])


def simulate_values(q: Quantized) -> Callable[[Array], dict[str, Array]]:
    """As `simulate`, but the real values of every name of the graph.

    Raises:
      ValueError: if an operation has no rule.
    """
    run = _runner(q)
    return lambda x: {name: real_value(q, name, value) for name, value in run(x).items()}


def _runner(q: Quantized) -> Callable[[Array], dict[str, Array]]:
    """A function from inputs to every value: integers for the names in `q.values`, else float32."""
    for node in q.graph.nodes:
        if node.op not in {*OPERATIONS, *UNARY, *BINARY}:
            raise ValueError(f"{node.name} has the operation {node.op!r}, for which there is no rule on integers")
        if node.op in WITH_WEIGHTS and q.in_integers(node):
            sums_scale(q, node)

    def run(x: Array) -> dict[str, Array]:
        found = {q.graph.input: rounded_value(q, q.graph.input, x)}
        for node in q.graph.nodes:
            found[node.name] = computed(q, node, [found[name] for name in node.inputs])
        return found

    return run


def computed(q: Quantized, node: Node, inputs: list[Array]) -> Array:
    """What a node makes of values in integers, or of real ones where there are none for their names."""
    rule = _rule(q, node, inputs)
    if rule is not None:
        return rule(q, node, *inputs)
    real = [real_value(q, name, x) for name, x in zip(node.inputs, inputs, strict=True)]
    return rounded_value(q, node.name, evaluate(with_real_weights(q, node), real))


def _rule(q: Quantized, node: Node, inputs: list[Array]) -> Callable[..., Array] | None:
    if not q.in_integers(node):
        return None
    own = OWN.get(q.target.name, {})
    if node.op in own:
        return own[node.op]
    return None if node.op == "mean" and not over_places(node, inputs[0].ndim) else RULES.get(node.op)


def over_places(node: Node, ndim: int) -> bool:
    """Whether a mean goes over all places of pictures `[N, H, W, C]`, and nothing else."""
    return ndim == 4 and tuple(node.settings["axes"]) == (1, 2)


def with_real_weights(q: Quantized, node: Node) -> Node:
    """A layer with the real values of its integers instead of its weights; any other node as it is."""
    layer = q.layers.get(node.name)
    if layer is None:
        return node
    bias = layer.bias
    if bias.dtype == np.int32:
        bias = bias.astype(np.float32) * sums_scale(q, node)
    return node.replace(weights={"kernel": layer.kernel.dequantize(), "bias": bias})


def sums_scale(q: Quantized, node: Node) -> Array:
    """Of the sums of a layer: scale of the input times scale of the kernel, float32 `[O]`."""
    kernel = q.layers[node.name].kernel
    return q.values[node.inputs[0]].scale * per_channel(kernel.scale, kernel.shape[-1])


def per_channel(scale: Any, channels: int) -> Array:
    """Scales of a kernel, `[..., 1 or O]` with ones before, as `[O]`.

    Raises:
      ValueError: if a kernel has scales for anything but its output channels.
    """
    if np.size(scale) not in (1, channels) or scale.shape[-1] != np.size(scale):
        raise ValueError(
            f"integers need one scale, or one for each of {channels} output channels, got {scale.shape}; such weights "
            "run in float: leave the values before or after the layer out"
        )
    if integer.traced(scale):
        return jnp.broadcast_to(scale.reshape(-1), (channels,))
    return np.broadcast_to(np.asarray(scale).reshape(-1), (channels,))


def _layer(q: Quantized, node: Node, x: Array) -> Array:
    layer, to = q.layers[node.name], q.values[node.name]
    x = integer.centred(x, q.values[node.inputs[0]])
    kernel, scale = layer.kernel.values(), sums_scale(q, node)
    total = integer.dense_sums(x, kernel) if node.op == "dense" else integer.conv_sums(x, kernel, node.settings)
    if layer.bias.dtype == np.int32:
        total = total + along(layer.bias, total.ndim, -1)
        factor = along(integer.multiplier(scale, to.scale), total.ndim, -1)
        return _clipped(q, node, integer.rescaled(total, factor, to, _dtype(q)))
    real = integer.settled(total.astype(jnp.float32) * along(scale, total.ndim, -1)) + along(layer.bias, total.ndim, -1)
    return _clipped(q, node, integer.rounded(real, to, _dtype(q)))


def _binary(folded: Callable[..., Array], plain: Callable[..., Array]) -> Callable[..., Array]:
    def rule(q: Quantized, node: Node, x: Array, y: Array) -> Array:
        most = max(x.ndim, y.ndim)
        x, y = (v.reshape(v.shape[0], *(1,) * (most - v.ndim), *v.shape[1:]) for v in (x, y))
        at = tuple(q.values[name] for name in (*node.inputs, node.name))
        return _clipped(q, node, (folded if q.target.add == "folded" else plain)(x, y, at, _dtype(q)))

    return rule


def _gate(q: Quantized, node: Node, x: Array) -> Array:
    return litert_rules.hard_sigmoid(x, (q.values[node.inputs[0]], q.values[node.name]), _dtype(q))


def _mean(q: Quantized, node: Node, x: Array) -> Array:
    others = integer.mean_rescaled if q.target.add == "folded" else integer.mean_divided
    mean = litert_rules.mean_shifted if q.target.name == "litert" else others
    return mean(x, (q.values[node.inputs[0]], q.values[node.name]), node.settings["axes"], _dtype(q))


def _average(q: Quantized, node: Node, x: Array) -> Array:
    return integer.average_shifted(x, (q.values[node.inputs[0]], q.values[node.name]), node.settings, _dtype(q))


def _hard_sigmoid(q: Quantized, node: Node, x: Array) -> Array:
    sixth = integer.settled(real_value(q, node.inputs[0], x) * np.float32(1 / 6))
    return rounded_value(q, node.name, jnp.clip(sixth + np.float32(0.5), 0.0, 1.0))


RULES: dict[str, Callable[..., Array]] = {
    "add": _binary(integer.add_folded, integer.add_divided),
    "conv": _layer,
    "dense": _layer,
    "mean": _mean,
    "mul": _binary(integer.mul_shifted, integer.mul_rescaled),
}
LITERT: dict[str, Callable[..., Array]] = {
    "add": _binary(litert_rules.add_fixed, litert_rules.add_fixed),
    "hard_sigmoid": _gate,
    "mean": _mean,
    "sub": _binary(litert_rules.sub_fixed, litert_rules.sub_fixed),
}
ONNX_RUNTIME: dict[str, Callable[..., Array]] = {"avg_pool": _average, "hard_sigmoid": _hard_sigmoid}
OWN = {"litert": LITERT, "onnxruntime": ONNX_RUNTIME}


def _clipped(q: Quantized, node: Node, x: Array) -> Array:
    """Integers between those of the limits of a clip: the same as to clip before rounding, as rounding is monotone."""
    for limit, bound in zip(node.settings.get("clip") or (), (jnp.maximum, jnp.minimum), strict=False):
        if limit is not None:
            x = bound(x, integer.rounded(jnp.float32(limit), q.values[node.name], _dtype(q)))
    return x


def rounded_value(q: Quantized, name: str, x: Array) -> Array:
    """A real value as its integers, if its name has some."""
    rounded = litert_rules.rounded if q.target.name == "litert" else integer.rounded
    return rounded(x, q.values[name], _dtype(q)) if name in q.values else x


def real_value(q: Quantized, name: str, x: Array) -> Array:
    """The real value of integers, if its name has some."""
    return integer.real(x, q.values[name]) if name in q.values else x


def _dtype(q: Quantized) -> Any:
    return jnp.dtype(q.target.activations)
