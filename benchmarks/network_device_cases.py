"""What is compared on an accelerator: for each case its sides, calls without arguments with equal results."""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import lax

from benchmarks.network_depthwise import LAYERS
from benchmarks.network_jax import replace_convolutions, unfilled
from jaxkit.compress.products import integer_conv, integer_dot
from jaxkit.nn import ConvNorm, EfficientNetLite, MobileNetV1, MobileNetV2, MobileNetV3, SeparableConv
from jaxkit.nn.shifts import Steps, depthwise

Sides = dict[str, Callable[[], Any]]
NETWORKS: dict[str, Callable[..., nnx.Module]] = {
    "MobileNetV1": MobileNetV1,
    "MobileNetV2": MobileNetV2,
    "MobileNetV3 large": MobileNetV3,
    "EfficientNet-Lite0": EfficientNetLite,
}
FEW_LAYERS = "few layers"  # that compile within seconds, also for training


def filled(path: Any, leaf: Any) -> jax.Array:
    """Weights with which values neither vanish nor explode; scales and variances are 1, all else is 0."""
    name = jax.tree_util.keystr(path)
    if len(leaf.shape) > 1:
        values = np.random.default_rng(0).normal(size=leaf.shape) * math.sqrt(2 / math.prod(leaf.shape[:-1]))
        return jax.device_put(values.astype(leaf.dtype))
    return jax.device_put(np.full(leaf.shape, "scale" in name or "var" in name, leaf.dtype))


def few_layers(*, rngs: nnx.Rngs) -> nnx.Module:
    blocks = [ConvNorm(3, 16, stride=2, rngs=rngs), SeparableConv(16, 32, stride=2, rngs=rngs)]
    return nnx.Sequential(*blocks, lambda x: x.mean((1, 2)), nnx.Linear(32, 1000, rngs=rngs))


def modules(name: str) -> dict[str, nnx.Module]:
    """The network with XLA's convolutions, and with jaxkit's, with the same weights."""
    stock, fast = (unfilled(lambda: NETWORKS.get(name, few_layers)(rngs=nnx.Rngs(0)), fill=filled) for _ in range(2))
    replace_convolutions(stock, lax.conv_general_dilated)
    return {"stock": stock, "jaxkit": fast}


def inputs(dtype: str, batch: int, side: int) -> jax.Array:
    x = np.random.default_rng(1).uniform(-1, 1, (batch, side, side, 3))
    return jax.device_put(jnp.asarray(x, dtype))


def cast(tree: Any, dtype: str) -> Any:
    """Real leaves in another dtype."""
    return jax.tree.map(lambda leaf: leaf.astype(dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf, tree)


def forward(name: str, dtype: str, batch: int, side: int) -> Sides:
    """Logits."""
    x, found = inputs(dtype, batch, side), {}
    for title, module in modules(name).items():
        module.eval()
        definition, state = nnx.split(module)
        run = jax.jit(lambda state, x, definition=definition: nnx.merge(definition, state)(x))
        found[title] = functools.partial(run, cast(state, dtype), x)
    return found


def training(name: str, dtype: str, batch: int, side: int) -> Sides:
    """Loss, gradients and new statistics of a step; weights stay in float32."""
    x, labels, found = inputs(dtype, batch, side), jnp.arange(batch) % 1000, {}
    for title, module in modules(name).items():
        module.train()
        definition, params, rest = nnx.split(module, nnx.Param, ...)
        found[title] = functools.partial(jax.jit(step(definition, dtype)), params, rest, x, labels)
    return found


def step(definition: Any, dtype: str) -> Callable[..., Any]:
    def loss(params: Any, rest: Any, x: jax.Array, labels: jax.Array) -> Any:
        module = nnx.merge(definition, cast(params, dtype), rest, copy=True)
        logits = jax.nn.log_softmax(module(x).astype(jnp.float32))
        own = -jnp.take_along_axis(logits, labels[:, None], axis=1).mean()
        return own, nnx.split(module, nnx.Param, ...)[2]

    def run(params: Any, rest: Any, x: jax.Array, labels: jax.Array) -> Any:
        (value, kept), gradients = jax.value_and_grad(loss, has_aux=True)(params, rest, x, labels)
        return value, gradients, kept

    return run


def layer(name: str, dtype: str, batch: int, side: int) -> Sides:
    """A depthwise layer of `LAYERS`, by its index, as XLA has it and as a sum of shifted products."""
    del side
    chosen = LAYERS[int(name)]
    x, kernel = (jax.device_put(jnp.asarray(array, dtype)) for array in chosen.arrays())
    x = jnp.tile(x, (batch, 1, 1, 1))
    steps, pads = (chosen.stride,) * 2, (chosen.padding,) * 2
    settings = {"dimension_numbers": ("NHWC", "HWIO", "NHWC"), "feature_group_count": chosen.channels}

    def shifts(x: jax.Array, kernel: jax.Array) -> jax.Array:
        return depthwise(jnp.pad(x, ((0, 0), *pads, (0, 0))), kernel, chosen.channels, Steps(steps, (1, 1)), None, None)

    whole = jax.jit(lambda x, kernel: lax.conv_general_dilated(x, kernel, steps, pads, **settings))
    return {"lax": functools.partial(whole, x, kernel), "shifts": functools.partial(jax.jit(shifts), x, kernel)}


def product(name: str, dtype: str, batch: int, side: int) -> Sides:
    """A product of integers with sums in int32, and the same in float32, which is exact for these."""
    del batch, side
    run, whole, shapes = PRODUCTS[name]
    rng = np.random.default_rng(2)
    given = [jax.device_put(rng.integers(-127, 128, shape).astype(dtype)) for shape in shapes]
    real = [array.astype(jnp.float32) for array in given]
    return {"float32": functools.partial(jax.jit(run), *real), "integers": functools.partial(jax.jit(whole), *given)}


def multiplied(x: jax.Array, kernel: jax.Array) -> jax.Array:
    # In full precision: rounded to fewer bits, not even these would be exact on accelerators.
    return lax.dot_general(x, kernel, (((1,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)


def convolved(x: jax.Array, kernel: jax.Array) -> jax.Array:
    settings = {"dimension_numbers": ("NHWC", "HWIO", "NHWC"), "precision": lax.Precision.HIGHEST}
    groups = x.shape[-1] // kernel.shape[-2]
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", feature_group_count=groups, **settings)


def convolved_integers(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return integer_conv(x, kernel, groups=x.shape[-1] // kernel.shape[-2])


PRODUCTS: dict[str, tuple[Callable[..., jax.Array], Callable[..., jax.Array], tuple[tuple[int, ...], ...]]] = {
    "dense 256 x 512 x 512": (multiplied, integer_dot, ((256, 512), (512, 512))),
    "convolution 3x3, 16 x 14x14x64": (convolved, convolved_integers, ((16, 14, 14, 64), (3, 3, 64, 64))),
    "depthwise 5x5, 16 x 14x14x384": (convolved, convolved_integers, ((16, 14, 14, 384), (5, 5, 1, 384))),
}
