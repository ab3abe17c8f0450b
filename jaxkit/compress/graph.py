"""A network as a list of the operations that runtimes know, with its weights beside them.

The graph is what quantization, pruning and export share. Values are named; pictures are `[N, H, W, C]`.

| op | inputs | weights | settings |
| --- | --- | --- | --- |
| conv | x | kernel `[h, w, I / groups, O]`, bias `[O]` | strides, pads, dilation, groups, clip |
| dense | x `[..., I]` | kernel `[I, O]`, bias `[O]` | clip |
| affine | x | scale and shift `[C]` or scalars | |
| add, sub, mul, div | x, y | | clip |
| clip | x | | low, high (None: open) |
| mean, max_pool, avg_pool | x | | axes; or window, strides, pads |
| reshape | x | | shape without N |
| concat | x, y, ... | | axis |
| sigmoid, tanh, exp, rsqrt, ... | x | | |
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxkit.nn.convolution import conv_general_dilated

Array = jax.Array
LAYOUT = ("NHWC", "HWIO", "NHWC")
UNARY: Mapping[str, Callable[[Array], Array]] = {
    "exp": jnp.exp,
    "hard_sigmoid": jax.nn.hard_sigmoid,
    "log": jnp.log,
    "neg": jnp.negative,
    "rsqrt": lax.rsqrt,
    "sigmoid": jax.nn.sigmoid,
    "sqrt": jnp.sqrt,
    "tanh": jnp.tanh,
}
BINARY: Mapping[str, Callable[[Array, Array], Array]] = {
    "add": jnp.add,
    "div": jnp.divide,
    "mul": jnp.multiply,
    "sub": jnp.subtract,
}


@dataclasses.dataclass(frozen=True, eq=False)
class Node:
    """One operation.

    Attributes:
      name: of the value that it makes.
      op: see the table of the module.
      inputs: names of the values that it takes.
      weights: what it learned, float32 on the host.
      settings: what is fixed.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    weights: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def replace(self, **changes: Any) -> "Node":
        """The same node with some fields exchanged."""
        return dataclasses.replace(self, **changes)


@dataclasses.dataclass(frozen=True, eq=False)
class Graph:
    """A network: nodes in an order in which they can be computed.

    Attributes:
      nodes: the operations.
      input: the name of the value that comes in.
      output: the name of the value that goes out.
      shape: of the input without N.
    """

    nodes: tuple[Node, ...]
    input: str
    output: str
    shape: tuple[int, ...]

    def __call__(self, x: Array) -> Array:
        """The network in float32: `[N, *shape]` to its output. To be compiled and batched like any function."""
        return self.values(x)[self.output]

    def values(self, x: Array) -> dict[str, Array]:
        """Every value by its name, as `calibration` looks at them."""
        found = {self.input: x}
        for node in self.nodes:
            found[node.name] = evaluate(node, [found[name] for name in node.inputs])
        return found

    def users(self, name: str) -> list[Node]:
        """The nodes that take a value."""
        return [node for node in self.nodes if name in node.inputs]


def evaluate(node: Node, inputs: list[Array]) -> Array:
    """What a node makes of its inputs, in float32.

    Raises:
      ValueError: if there is no such operation.
    """
    if node.op in UNARY:
        return UNARY[node.op](*inputs)
    if node.op in BINARY:
        return _clipped(BINARY[node.op](*_aligned(inputs)), node)
    if node.op not in OPERATIONS:
        raise ValueError(f"{node.name} has the operation {node.op!r}, which no graph knows")
    return OPERATIONS[node.op](node, *inputs)


def _conv(node: Node, x: Array) -> Array:
    settings, kernel = node.settings, jnp.asarray(node.weights["kernel"])
    shape = {"rhs_dilation": settings["dilation"], "feature_group_count": settings["groups"]}
    out = conv_general_dilated(x, kernel, settings["strides"], settings["pads"], dimension_numbers=LAYOUT, **shape)
    return _clipped(_plus(out, node.weights["bias"]), node)


def _dense(node: Node, x: Array) -> Array:
    return _clipped(_plus(x @ jnp.asarray(node.weights["kernel"]), node.weights["bias"]), node)


def _affine(node: Node, x: Array) -> Array:
    return _plus(x * _last(node.weights["scale"], x), node.weights["shift"])


def _clip(node: Node, x: Array) -> Array:
    return jnp.clip(x, node.settings["low"], node.settings["high"])


def _mean(node: Node, x: Array) -> Array:
    return jnp.mean(x, axis=node.settings["axes"])


def _pool(node: Node, x: Array) -> Array:
    window, strides, pads = ((1, *node.settings[k], 1) for k in ("window", "strides", "pads"))
    around = tuple((0, 0) if pad == 1 else pad for pad in pads)
    if node.op == "max_pool":
        return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, around)
    return lax.reduce_window(x, 0.0, lax.add, window, strides, around) / np.float32(np.prod(window))


def _reshape(node: Node, x: Array) -> Array:
    return x.reshape(x.shape[0], *node.settings["shape"])


def _concat(node: Node, *inputs: Array) -> Array:
    return jnp.concatenate(inputs, axis=node.settings["axis"])


OPERATIONS: Mapping[str, Callable[..., Array]] = {
    "affine": _affine,
    "avg_pool": _pool,
    "clip": _clip,
    "concat": _concat,
    "conv": _conv,
    "dense": _dense,
    "max_pool": _pool,
    "mean": _mean,
    "reshape": _reshape,
}


def _clipped(x: Array, node: Node) -> Array:
    limits = node.settings.get("clip")
    return x if limits is None else jnp.clip(x, *limits)


def _plus(x: Array, values: np.ndarray) -> Array:
    return x + _last(values, x)


def _last(values: np.ndarray, x: Array) -> Array:
    """Values of channels, or one of all, shaped to meet the last axis of `x`."""
    values = jnp.asarray(values, x.dtype)
    return values.reshape((1,) * (x.ndim - values.ndim) + values.shape)


def _aligned(inputs: list[Array]) -> list[Array]:
    """Two values with as many axes; the smaller one has new axes after N, as gates have."""
    most = max(x.ndim for x in inputs)
    return [x.reshape(x.shape[0], *(1,) * (most - x.ndim), *x.shape[1:]) for x in inputs]
