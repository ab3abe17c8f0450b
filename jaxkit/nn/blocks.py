"""The blocks that small convolutional networks are made of, as Flax modules that take `[N, H, W, C]`.

`padding` names one of two conventions that differ for even steps: "same" pads as TensorFlow and Flax do, more at the
end; "torch" pads both ends alike. Weights are worth nothing under the other one.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from flax import nnx

from jaxkit.nn.convolution import conv_general_dilated
from jaxkit.ranges import one_of_names

Array = jax.Array
Activation = Callable[[Array], Array]
PADDINGS = ("same", "torch")


def make_divisible(channels: float, *, by: int = 8) -> int:
    """The multiple of `by` nearest to `channels`, at least `by` and never more than 10 % below (MobileNet papers)."""
    nearest = max(by, int(channels + by / 2) // by * by)
    return nearest + by if nearest < 0.9 * channels else nearest


class ConvNorm(nnx.Module):
    """A convolution without bias, batch normalisation, and an activation.

    Raises:
      ValueError: when built, if `padding` is neither "same" nor "torch".
    """

    def __init__(
        self,
        inputs: int,
        features: int,
        *,
        kernel: int = 3,
        stride: int = 1,
        groups: int = 1,
        activation: Activation | None = None,
        padding: str = "same",
        epsilon: float = 1e-3,
        rngs: nnx.Rngs,
    ):
        one_of_names("padding", padding, PADDINGS)
        edge = (kernel - 1) // 2
        self.conv = nnx.Conv(
            inputs,
            features,
            (kernel, kernel),
            strides=stride,
            padding="SAME" if padding == "same" else ((edge, edge), (edge, edge)),
            feature_group_count=groups,
            use_bias=False,
            conv_general_dilated=conv_general_dilated,
            rngs=rngs,
        )
        self.norm = nnx.BatchNorm(features, momentum=0.99, epsilon=epsilon, rngs=rngs)
        self.activation = activation

    def __call__(self, x: Array) -> Array:
        """`[N, H, W, inputs]` to `[N, H / stride, W / stride, features]`."""
        x = self.norm(self.conv(x))
        return x if self.activation is None else self.activation(x)


class SeparableConv(nnx.Module):
    """A depthwise convolution and a pointwise one, each normalised and activated (MobileNetV1)."""

    def __init__(
        self,
        inputs: int,
        features: int,
        *,
        kernel: int = 3,
        stride: int = 1,
        activation: Activation = jax.nn.relu6,
        padding: str = "same",
        epsilon: float = 1e-3,
        rngs: nnx.Rngs,
    ):
        shared = {"activation": activation, "padding": padding, "epsilon": epsilon, "rngs": rngs}
        self.depthwise = ConvNorm(inputs, inputs, kernel=kernel, stride=stride, groups=inputs, **shared)
        self.pointwise = ConvNorm(inputs, features, kernel=1, **shared)

    def __call__(self, x: Array) -> Array:
        """`[N, H, W, inputs]` to `[N, H / stride, W / stride, features]`."""
        return self.pointwise(self.depthwise(x))


class SqueezeExcite(nnx.Module):
    """Scales each channel by a gate that sees the mean of all channels (Hu et al. 2018)."""

    def __init__(
        self,
        channels: int,
        *,
        hidden: int,
        activation: Activation = jax.nn.relu,
        gate: Activation = jax.nn.sigmoid,
        rngs: nnx.Rngs,
    ):
        self.reduce = nnx.Linear(channels, hidden, rngs=rngs)
        self.expand = nnx.Linear(hidden, channels, rngs=rngs)
        self.activation, self.gate = activation, gate

    def __call__(self, x: Array) -> Array:
        """`[N, H, W, channels]` to the same shape."""
        mean = jnp.mean(x, axis=(1, 2))
        scale = self.gate(self.expand(self.activation(self.reduce(mean))))
        return x * scale[:, None, None, :]


class InvertedResidual(nnx.Module):
    """Widen, filter each channel, gate, narrow; added to the input where shapes allow it (MobileNetV2, V3).

    Args:
      hidden: channels in the middle; where it equals `inputs`, nothing is widened.
      squeeze: hidden channels of the gate. 0: no gate.
    """

    def __init__(
        self,
        inputs: int,
        features: int,
        *,
        hidden: int,
        kernel: int = 3,
        stride: int = 1,
        activation: Activation = jax.nn.relu6,
        squeeze: int = 0,
        gate: Activation = jax.nn.sigmoid,
        padding: str = "same",
        epsilon: float = 1e-3,
        rngs: nnx.Rngs,
    ):
        shared = {"padding": padding, "epsilon": epsilon, "rngs": rngs}
        wide = {"activation": activation, **shared}
        self.expand = None if hidden == inputs else ConvNorm(inputs, hidden, kernel=1, **wide)
        self.depthwise = ConvNorm(hidden, hidden, kernel=kernel, stride=stride, groups=hidden, **wide)
        self.gate = SqueezeExcite(hidden, hidden=squeeze, gate=gate, rngs=rngs) if squeeze else None
        self.project = ConvNorm(hidden, features, kernel=1, **shared)
        self.residual = stride == 1 and inputs == features

    def __call__(self, x: Array) -> Array:
        """`[N, H, W, inputs]` to `[N, H / stride, W / stride, features]`."""
        middle = self.depthwise(x if self.expand is None else self.expand(x))
        out = self.project(middle if self.gate is None else self.gate(middle))
        return x + out if self.residual else out


class FusedMBConv(nnx.Module):
    """An inverted residual whose widening and filtering are one dense convolution (EfficientNetV2)."""

    def __init__(
        self,
        inputs: int,
        features: int,
        *,
        hidden: int,
        kernel: int = 3,
        stride: int = 1,
        activation: Activation = jax.nn.silu,
        padding: str = "same",
        epsilon: float = 1e-3,
        rngs: nnx.Rngs,
    ):
        shared = {"padding": padding, "epsilon": epsilon, "rngs": rngs}
        self.expand = ConvNorm(inputs, hidden, kernel=kernel, stride=stride, activation=activation, **shared)
        self.project = ConvNorm(hidden, features, kernel=1, **shared)
        self.residual = stride == 1 and inputs == features

    def __call__(self, x: Array) -> Array:
        """`[N, H, W, inputs]` to `[N, H / stride, W / stride, features]`."""
        out = self.project(self.expand(x))
        return x + out if self.residual else out
