"""MobileNets: V1 (Howard et al. 2017), V2 (Sandler et al. 2018), V3 large and small (Howard et al. 2019)."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from jaxkit.nn.blocks import ConvNorm, InvertedResidual, SeparableConv, make_divisible
from jaxkit.ranges import number, one_of_names

Array = jax.Array
relu, swish = jax.nn.relu, jax.nn.hard_swish


class Bottleneck(NamedTuple):
    """One row of the papers' tables: kernel, channels in the middle and out, gate, activation, stride."""

    kernel: int
    hidden: int
    features: int
    gated: bool
    activation: Callable[[Array], Array]
    stride: int


V1 = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *5 * ((512, 1),), (1024, 2), (1024, 1))
V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
LARGE = (
    Bottleneck(3, 16, 16, False, relu, 1),
    Bottleneck(3, 64, 24, False, relu, 2),
    Bottleneck(3, 72, 24, False, relu, 1),
    Bottleneck(5, 72, 40, True, relu, 2),
    *2 * (Bottleneck(5, 120, 40, True, relu, 1),),
    Bottleneck(3, 240, 80, False, swish, 2),
    Bottleneck(3, 200, 80, False, swish, 1),
    *2 * (Bottleneck(3, 184, 80, False, swish, 1),),
    Bottleneck(3, 480, 112, True, swish, 1),
    Bottleneck(3, 672, 112, True, swish, 1),
    Bottleneck(5, 672, 160, True, swish, 2),
    *2 * (Bottleneck(5, 960, 160, True, swish, 1),),
)
SMALL = (
    Bottleneck(3, 16, 16, True, relu, 2),
    Bottleneck(3, 72, 24, False, relu, 2),
    Bottleneck(3, 88, 24, False, relu, 1),
    Bottleneck(5, 96, 40, True, swish, 2),
    *2 * (Bottleneck(5, 240, 40, True, swish, 1),),
    Bottleneck(5, 120, 48, True, swish, 1),
    Bottleneck(5, 144, 48, True, swish, 1),
    Bottleneck(5, 288, 96, True, swish, 2),
    *2 * (Bottleneck(5, 576, 96, True, swish, 1),),
)
TABLES = {"large": (LARGE, 1280), "small": (SMALL, 1024)}


class MobileNetV1(nnx.Module):
    """A classifier of pictures `[N, H, W, 3]`, of separable convolutions.

    Args:
      classes: how many logits.
      width: factor of all channels.

    Raises:
      ValueError: when built, if `width` is not one positive number.
    """

    def __init__(
        self,
        *,
        classes: int = 1000,
        width: float = 1.0,
        padding: str = "same",
        epsilon: float = 1e-3,
        rngs: nnx.Rngs,
    ):
        channels = _widened(32, width)
        shared = {"padding": padding, "epsilon": epsilon, "rngs": rngs}
        self.stem = ConvNorm(3, channels, stride=2, activation=jax.nn.relu6, **shared)
        blocks = []
        for features, stride in V1:
            blocks.append(SeparableConv(channels, _widened(features, width), stride=stride, **shared))
            channels = _widened(features, width)
        self.blocks = nnx.List(blocks)
        self.classify = nnx.Linear(channels, classes, rngs=rngs)

    def __call__(self, x: Array) -> Array:
        """`[N, H, W, 3]` to logits `[N, classes]`."""
        return self.classify(_pooled(self.stem(x), self.blocks))


class MobileNetV2(nnx.Module):
    """A classifier of pictures `[N, H, W, 3]`, of inverted residuals.

    Args:
      classes: how many logits.
      width: factor of all channels; the last layer does not shrink.

    Raises:
      ValueError: when built, if `width` is not one positive number.
    """

    def __init__(
        self,
        *,
        classes: int = 1000,
        width: float = 1.0,
        padding: str = "same",
        epsilon: float = 1e-3,
        rngs: nnx.Rngs,
    ):
        channels = _widened(32, width)
        shared = {"padding": padding, "epsilon": epsilon, "rngs": rngs, "activation": jax.nn.relu6}
        self.stem = ConvNorm(3, channels, stride=2, **shared)
        blocks = []
        for widen, features, repeats, stride in V2:
            for index in range(repeats):
                settings = {"hidden": channels * widen, "stride": stride if index == 0 else 1, **shared}
                blocks.append(InvertedResidual(channels, _widened(features, width), **settings))
                channels = _widened(features, width)
        self.blocks = nnx.List(blocks)
        last = _widened(1280, max(1.0, width))
        self.head = ConvNorm(channels, last, kernel=1, **shared)
        self.classify = nnx.Linear(last, classes, rngs=rngs)

    def __call__(self, x: Array) -> Array:
        """`[N, H, W, 3]` to logits `[N, classes]`."""
        return self.classify(_pooled(self.stem(x), [*self.blocks, self.head]))


class MobileNetV3(nnx.Module):
    """A classifier of pictures `[N, H, W, 3]`, of inverted residuals with gates and hard swishes.

    Args:
      variant: "large" or "small".
      classes: how many logits.
      width: factor of all channels.

    Raises:
      ValueError: when built, if there is no such variant, or `width` is not one positive number.
    """

    def __init__(
        self,
        variant: str = "large",
        *,
        classes: int = 1000,
        width: float = 1.0,
        padding: str = "same",
        epsilon: float = 1e-3,
        rngs: nnx.Rngs,
    ):
        table, last = TABLES[one_of_names("variant", variant, tuple(TABLES))]
        channels = _widened(16, width)
        shared = {"padding": padding, "epsilon": epsilon, "rngs": rngs}
        self.stem = ConvNorm(3, channels, stride=2, activation=swish, **shared)
        blocks = []
        for row in table:
            blocks.append(_gated(channels, row, width, shared))
            channels = _widened(row.features, width)
        self.blocks = nnx.List(blocks)
        wide = _widened(table[-1].hidden, width)
        self.head = ConvNorm(channels, wide, kernel=1, activation=swish, **shared)
        self.widen = nnx.Linear(wide, _widened(last, max(1.0, width)), rngs=rngs)
        self.classify = nnx.Linear(_widened(last, max(1.0, width)), classes, rngs=rngs)

    def __call__(self, x: Array) -> Array:
        """`[N, H, W, 3]` to logits `[N, classes]`."""
        return self.classify(swish(self.widen(_pooled(self.stem(x), [*self.blocks, self.head]))))


def _gated(channels: int, row: Bottleneck, width: float, shared: dict) -> InvertedResidual:
    hidden = _widened(row.hidden, width)
    squeeze = make_divisible(hidden / 4) if row.gated else 0
    settings = {"kernel": row.kernel, "stride": row.stride, "activation": row.activation, "gate": jax.nn.hard_sigmoid}
    return InvertedResidual(
        channels, _widened(row.features, width), hidden=hidden, squeeze=squeeze, **settings, **shared
    )


def _widened(channels: int, width: float) -> int:
    if number("width", width) <= 0:
        raise ValueError(f"width must be above 0, got {width}")
    return make_divisible(channels * width)


def _pooled(x: Array, blocks: list) -> Array:
    for block in blocks:
        x = block(x)
    return jnp.mean(x, axis=(1, 2))
