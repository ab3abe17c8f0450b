"""From a function of arrays to a graph of operations, by way of its jaxpr."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxkit.compress.fold import folded
from jaxkit.compress.graph import LAYOUT, UNARY, Graph, Node

INLINED = ("jit", "pjit", "closed_call", "core_call", "remat", "checkpoint", "custom_jvp_call", "custom_vjp_call")
BODIES = ("jaxpr", "call_jaxpr", "fun_jaxpr")
PASSED = ("convert_element_type", "copy", "stop_gradient", "optimization_barrier", "sharding_constraint")
NAMES = {"logistic": "sigmoid"}
ON_HOST = {
    "add": np.add,
    "mul": np.multiply,
    "neg": np.negative,
    "rsqrt": lambda x: (1 / np.sqrt(x.astype(np.float64))).astype(x.dtype),
    "sqrt": np.sqrt,
    "sub": np.subtract,
}
Value = Any


def trace(function: Callable[[Any], Any], example: Any) -> Graph:
    """The graph of a network that is done with training.

    Batch normalisation is folded into the layer before it, clips into the layer that they follow, and everything that
    does not depend on the input is computed now. The graph runs for any number of examples.

    Args:
      function: of one float32 array `[N, ...]`; a Flax module after `module.eval()`, or any function that JAX traces.
      example: an input with N = 1, or its `jax.ShapeDtypeStruct`.

    Returns:
      A `Graph`.

    Raises:
      ValueError: if an operation has no place in a graph, with its name and line; or if `example` is not one example.
    """
    spec = jax.ShapeDtypeStruct(example.shape, example.dtype)
    if not spec.shape or spec.shape[0] != 1:
        raise ValueError(f"trace takes one example [1, ...], got shape {spec.shape}")
    closed = jax.make_jaxpr(lambda x: function(x))(spec)
    if len(closed.jaxpr.outvars) != 1:
        raise ValueError(f"trace takes a function with one result, got {len(closed.jaxpr.outvars)}")
    tracer = _Tracer()
    (output,) = tracer.walk(closed.jaxpr, closed.consts, ["input"])
    if not isinstance(output, str):
        raise ValueError("the result does not depend on the input: there is nothing to trace")
    return folded(Graph(tuple(tracer.nodes), "input", output, spec.shape[1:]))


class _Tracer:
    """Collects nodes while it walks through the equations."""

    def __init__(self):
        self.nodes: list[Node] = []

    def walk(self, jaxpr: Any, consts: list, arguments: list[Value]) -> list[Value]:
        """The values of the results: names where they depend on the input, else arrays."""
        known = dict(zip(jaxpr.constvars, map(np.asarray, consts), strict=True))
        known |= dict(zip(jaxpr.invars, arguments, strict=True))

        def read(var: Any) -> Value:
            return np.asarray(var.val) if hasattr(var, "val") else known[var]

        for equation in jaxpr.eqns:
            results = self.equation(equation, [read(var) for var in equation.invars])
            known |= dict(zip(equation.outvars, results, strict=True))
        return [read(var) for var in jaxpr.outvars]

    def equation(self, equation: Any, inputs: list[Value]) -> list[Value]:
        name, params = equation.primitive.name, equation.params
        if name in INLINED:
            body = next(params[key] for key in BODIES if key in params)
            return self.walk(getattr(body, "jaxpr", body), getattr(body, "consts", []), inputs)
        if name == "platform_index":
            return [np.int32(len(params["platforms"]) - 1)]
        if name == "cond" and not isinstance(inputs[0], str):
            branch = params["branches"][int(inputs[0])]
            return self.walk(branch.jaxpr, branch.consts, inputs[1:])
        if not any(isinstance(value, str) for value in inputs):
            return _computed(equation, inputs)
        if name in PASSED:
            return inputs
        return [self.add(equation, inputs)]

    def add(self, equation: Any, inputs: list[Value]) -> str:
        name = NAMES.get(equation.primitive.name, equation.primitive.name)
        make = MAKERS.get(name, _unary if name in UNARY else None)
        made = None if make is None else make(equation, inputs)
        if made is None:
            shapes = ", ".join(str(var.aval) for var in equation.invars)
            raise ValueError(f"{name} of {shapes} has no place in a graph; it comes from {_line(equation)}")
        op, taken, weights, settings = made
        name = self.put(op, taken, weights, {k: v for k, v in settings.items() if k != "factor"})
        if "factor" not in settings:
            return name
        # A sum is a mean times a number, which mostly meets the division of the mean that was meant.
        return self.put("affine", [name], {"scale": np.float32(settings["factor"]), "shift": np.float32(0)}, {})

    def put(self, op: str, inputs: list[str], weights: dict, settings: dict) -> str:
        self.nodes.append(Node(f"{op}_{len(self.nodes)}", op, tuple(inputs), weights, settings))
        return self.nodes[-1].name


def _computed(equation: Any, inputs: list[Value]) -> list[Value]:
    """Constants, now. By NumPy where it can: JAX compiles a program for each operation and shape."""
    if equation.primitive.name in ON_HOST:
        return [ON_HOST[equation.primitive.name](*inputs)]
    if equation.primitive.name in ("reshape", "squeeze"):
        return [np.reshape(inputs[0], equation.outvars[0].aval.shape)]
    out = equation.primitive.bind(*map(jnp.asarray, inputs), **equation.params)
    return [np.asarray(value) for value in (out if equation.primitive.multiple_results else [out])]


def _line(equation: Any) -> str:
    return str(equation.source_info.name_stack) or "the top of the function"


def _unary(equation: Any, inputs: list[Value]) -> tuple:
    return NAMES.get(equation.primitive.name, equation.primitive.name), inputs, {}, {}


def _conv(equation: Any, inputs: list[Value]) -> tuple | None:
    x, kernel = inputs
    p = equation.params
    numbers = lax.conv_dimension_numbers(equation.invars[0].aval.shape, equation.invars[1].aval.shape, LAYOUT)
    plain = p["batch_group_count"] == 1 and set(p["lhs_dilation"]) == {1} and p["dimension_numbers"] == numbers
    if isinstance(kernel, str) or not isinstance(x, str) or not plain:
        return None
    settings = {"strides": p["window_strides"], "pads": p["padding"], "dilation": p["rhs_dilation"]}
    weights = {"kernel": kernel, "bias": np.zeros(kernel.shape[-1], np.float32)}
    return "conv", [x], weights, {**settings, "groups": p["feature_group_count"]}


def _dense(equation: Any, inputs: list[Value]) -> tuple | None:
    x, kernel = inputs
    last = equation.invars[0].aval.ndim - 1
    if isinstance(kernel, str) or not isinstance(x, str) or kernel.ndim != 2:
        return None
    if equation.params["dimension_numbers"] != (((last,), (0,)), ((), ())):
        return None
    return "dense", [x], {"kernel": kernel, "bias": np.zeros(kernel.shape[-1], np.float32)}, {}


def _arithmetic(equation: Any, inputs: list[Value]) -> tuple | None:
    name = equation.primitive.name
    if all(isinstance(value, str) for value in inputs):
        return name, inputs, {}, {}
    x, other = inputs if isinstance(inputs[0], str) else inputs[::-1]
    channels = _channels(other, equation.outvars[0].aval.shape)
    if channels is None or (name == "div" and x is not inputs[0]):
        return None
    scale, shift = _scale_and_shift(name, channels, x is not inputs[0])
    return "affine", [x], {"scale": np.float32(scale), "shift": np.float32(shift)}, {}


def _scale_and_shift(name: str, constant: np.ndarray, flipped: bool) -> tuple[Any, Any]:
    if name in ("mul", "div"):
        return constant if name == "mul" else 1.0 / constant, 0.0
    if name == "add":
        return 1.0, constant
    return (-1.0, constant) if flipped else (1.0, -constant)


def _channels(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Constants that differ along the last axis at most, as `[C]` or a scalar."""
    values = np.asarray(values, np.float32)
    if values.size == 1:
        return values.reshape(())
    return values.reshape(-1) if values.size == values.shape[-1] == shape[-1] else None


def _limit(equation: Any, inputs: list[Value]) -> tuple | None:
    x, other = inputs if isinstance(inputs[0], str) else inputs[::-1]
    if isinstance(other, str) or np.size(other) != 1:
        return None
    bound = float(np.reshape(other, ()))
    low, high = (bound, None) if equation.primitive.name == "max" else (None, bound)
    return "clip", [x], {}, {"low": low, "high": high}


def _clamp(equation: Any, inputs: list[Value]) -> tuple | None:
    low, x, high = inputs
    if isinstance(low, str) or isinstance(high, str) or np.size(low) != 1 or np.size(high) != 1:
        return None
    return "clip", [x], {}, {"low": float(np.reshape(low, ())), "high": float(np.reshape(high, ()))}


def _sum(equation: Any, inputs: list[Value]) -> tuple | None:
    axes, shape = equation.params["axes"], equation.invars[0].aval.shape
    if 0 in axes:
        return None
    return "mean", inputs, {}, {"axes": tuple(axes), "factor": math.prod(shape[axis] for axis in axes)}


def _pool(equation: Any, inputs: list[Value]) -> tuple | None:
    p = equation.params
    window, strides, pads = p["window_dimensions"], p["window_strides"], p["padding"]
    outer = (window[0], window[-1], strides[0], strides[-1]) == (1, 1, 1, 1) and {pads[0], pads[-1]} == {(0, 0)}
    if not outer or set(p["base_dilation"]) | set(p["window_dilation"]) != {1}:
        return None
    settings = {"window": window[1:-1], "strides": strides[1:-1], "pads": tuple(pads[1:-1])}
    if equation.primitive.name == "reduce_window_max":
        return "max_pool", inputs, {}, settings
    return "avg_pool", inputs, {}, {**settings, "factor": math.prod(window)}


def _reshape(equation: Any, inputs: list[Value]) -> tuple | None:
    before, after = equation.invars[0].aval.shape, equation.outvars[0].aval.shape
    if not after or after[0] != 1 or math.prod(before) != math.prod(after):
        return None
    return "reshape", inputs[:1], {}, {"shape": tuple(after[1:])}


def _concat(equation: Any, inputs: list[Value]) -> tuple | None:
    axis = equation.params["dimension"]
    if axis == 0 or not all(isinstance(value, str) for value in inputs):
        return None
    return "concat", inputs, {}, {"axis": axis}


MAKERS: dict[str, Callable[[Any, list[Value]], tuple | None]] = {
    "add": _arithmetic,
    "broadcast_in_dim": _reshape,
    "clamp": _clamp,
    "concatenate": _concat,
    "conv_general_dilated": _conv,
    "div": _arithmetic,
    "dot_general": _dense,
    "max": _limit,
    "min": _limit,
    "mul": _arithmetic,
    "reduce_sum": _sum,
    "reduce_window_max": _pool,
    "reduce_window_sum": _pool,
    "reshape": _reshape,
    "squeeze": _reshape,
    "sub": _arithmetic,
}
