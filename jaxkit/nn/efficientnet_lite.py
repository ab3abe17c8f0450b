"""EfficientNet-Lite: the EfficientNets without gates and with bounded activations, made for integers.

Source: the `efficientnet/lite` reference of the TensorFlow TPU models (2020) and Tan & Le, "EfficientNet" (2019).
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from jaxkit.nn.blocks import ConvNorm, InvertedResidual, make_divisible
from jaxkit.ranges import one_of_names

Array = jax.Array


class Scaling(NamedTuple):
    """How a variant differs: factors of channels and of repeats, the picture's side in pixels, dropout."""

    width: float
    depth: float
    size: int
    dropout: float


class Stage(NamedTuple):
    """Blocks in a row: how many, their kernel, the first one's stride, how far they widen, channels out."""

    repeats: int
    kernel: int
    stride: int
    widen: int
    features: int


VARIANTS = {
    "lite0": Scaling(1.0, 1.0, 224, 0.2),
    "lite1": Scaling(1.0, 1.1, 240, 0.2),
    "lite2": Scaling(1.1, 1.2, 260, 0.3),
    "lite3": Scaling(1.2, 1.4, 280, 0.3),
    "lite4": Scaling(1.4, 1.8, 300, 0.3),
}
STAGES = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)
STEM, HEAD = 32, 1280


class EfficientNetLite(nnx.Module):
    """A classifier of pictures `[N, H, W, 3]`, scaled as `(value - 127) / 128` by its published weights.

    Args:
      variant: "lite0" to "lite4".
      classes: how many logits.

    Raises:
      ValueError: when built, if there is no such variant.
    """

    def __init__(
        self,
        variant: str = "lite0",
        *,
        classes: int = 1000,
        padding: str = "same",
        epsilon: float = 1e-3,
        rngs: nnx.Rngs,
    ):
        scaling = VARIANTS[one_of_names("variant", variant, tuple(VARIANTS))]
        shared = {"activation": jax.nn.relu6, "padding": padding, "epsilon": epsilon, "rngs": rngs}
        self.stem = ConvNorm(3, STEM, stride=2, **shared)
        blocks, channels = [], STEM
        for stage in _scaled(scaling):
            for index in range(stage.repeats):
                hidden, stride = channels * stage.widen, stage.stride if index == 0 else 1
                settings = {"hidden": hidden, "kernel": stage.kernel, "stride": stride, **shared}
                blocks.append(InvertedResidual(channels, stage.features, **settings))
                channels = stage.features
        self.blocks = nnx.List(blocks)
        self.head = ConvNorm(channels, HEAD, kernel=1, **shared)
        self.dropout = nnx.Dropout(scaling.dropout, rngs=rngs)
        self.classify = nnx.Linear(HEAD, classes, rngs=rngs)

    def __call__(self, x: Array) -> Array:
        """`[N, H, W, 3]` to logits `[N, classes]`."""
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.classify(self.dropout(jnp.mean(self.head(x), axis=(1, 2))))


def _scaled(scaling: Scaling) -> list[Stage]:
    """The stages of a variant; the first and the last keep their number of blocks."""
    last = len(STAGES) - 1
    return [
        stage._replace(
            features=make_divisible(stage.features * scaling.width),
            repeats=stage.repeats if index in (0, last) else math.ceil(stage.repeats * scaling.depth),
        )
        for index, stage in enumerate(STAGES)
    ]
