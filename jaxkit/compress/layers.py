"""Flax layers with integers for weights, made of trained ones: to infer with, for `nnx.Linear` and `nnx.Conv`."""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jaxkit.compress.affine import along
from jaxkit.compress.dynamic import quantize_rows
from jaxkit.compress.products import each_axis, qconv, qdot
from jaxkit.compress.qarray import QArray, quantize_array
from jaxkit.ranges import one_of_names

Array = jax.Array
MODES = ("weight_only", "dynamic")
PADDINGS = ("SAME", "VALID")
Padding = str | tuple[tuple[int, int], ...]


class QuantDense(nnx.Module):
    """A dense layer with integers for weights.

    Attributes:
      kernel: holds a `QArray` `[I, O]`. It is no `nnx.Param`: there is nothing to train.
      bias: holds float32 `[O]`; or None.
      mode: "weight_only", or "dynamic": every row of the input is rounded to 8 bits by its own range, symmetrically,
        and multiplied in integers.
    """

    def __init__(self, kernel: QArray, bias: Array | None = None, *, mode: str = "weight_only"):
        """A layer of integers that are known. Raises ValueError if there is no such mode, or shapes do not fit."""
        self.mode = one_of_names("mode", mode, MODES)
        if len(kernel.shape) != 2:
            raise ValueError(f"a dense layer has a kernel [I, O], got {kernel.shape}")
        self.kernel = nnx.Variable(kernel)
        self.bias = _bias(bias, kernel)

    @classmethod
    def of(
        cls, linear: nnx.Linear, *, bits: int = 8, mode: str = "weight_only", group: int | None = None
    ) -> "QuantDense":
        """The layer with the weights of a trained one, rounded; it computes in the dtype of its input.

        Args:
          linear: the trained layer.
          bits: 8, or 4 packed two to a byte.
          mode: "weight_only" or "dynamic".
          group: how many neighbours along I have a scale, for each output. None: all of I.

        Raises:
          ValueError: if a setting is not one of these, or `group` does not divide I.
        """
        blocks = {} if group is None else {"group": (0, group)}
        bias = None if linear.bias is None else linear.bias[...]
        return cls(quantize_array(linear.kernel[...], bits=bits, channel=1, **blocks), bias, mode=mode)

    @property
    def nbytes(self) -> int:
        """Bytes that integers, scales and bias take."""
        return _nbytes(self)

    def __call__(self, x: Array) -> Array:
        """`[..., I]` to `[..., O]` of the same dtype."""
        taken = quantize_rows(x) if self.mode == "dynamic" else x
        return _plus(qdot(taken, self.kernel.get_value()).astype(x.dtype), self.bias)


class QuantConv(nnx.Module):
    """A convolution with integers for weights, depthwise and dilated ones included.

    Attributes:
      kernel: holds a `QArray` `[...spatial, C / groups, O]`. It is no `nnx.Param`: there is nothing to train.
      bias: holds float32 `[O]`; or None.
      mode: "weight_only", or "dynamic": every example is rounded to 8 bits by its own range, symmetrically, and
        convolved in integers.
    """

    def __init__(
        self,
        kernel: QArray,
        bias: Array | None = None,
        *,
        strides: Sequence[int] | int = 1,
        padding: Padding = "SAME",
        groups: int = 1,
        dilation: Sequence[int] | int = 1,
        mode: str = "weight_only",
    ):
        """A layer of integers that are known. Raises ValueError if there is no such mode, or shapes do not fit."""
        self.mode = one_of_names("mode", mode, MODES)
        if not 3 <= len(kernel.shape) <= 5:
            raise ValueError(f"a convolution has a kernel [...spatial, C / groups, O], got {kernel.shape}")
        self.kernel = nnx.Variable(kernel)
        self.bias = _bias(bias, kernel)
        self.strides, self.padding, self.groups, self.dilation = strides, padding, groups, dilation

    @classmethod
    def of(cls, conv: nnx.Conv, *, bits: int = 8, mode: str = "weight_only") -> "QuantConv":
        """The layer with the weights of a trained one, rounded, with a scale for each output channel.

        Args:
          conv: the trained layer.
          bits: 8, or 4 packed two to a byte.
          mode: "weight_only" or "dynamic".

        Raises:
          ValueError: if a setting is not one of these, or the layer has a mask, a dilated input or a padding that is
            neither "SAME", "VALID" nor numbers.
        """
        places = len(conv.kernel_size)
        if conv.mask is not None or set(each_axis(conv.input_dilation, places)) != {1}:
            raise ValueError("a layer with a mask or a dilated input has no form in integers; multiply the mask in")
        bias = None if conv.bias is None else conv.bias[...]
        return cls(
            quantize_array(conv.kernel[...], bits=bits, channel=conv.kernel.ndim - 1),
            bias,
            strides=each_axis(conv.strides, places),
            padding=_padding(conv.padding, places),
            groups=conv.feature_group_count,
            dilation=each_axis(conv.kernel_dilation, places),
            mode=mode,
        )

    @property
    def nbytes(self) -> int:
        """Bytes that integers, scales and bias take."""
        return _nbytes(self)

    def __call__(self, x: Array) -> Array:
        """`[..., *spatial, C]` with any axes before, or none, to `[..., *spatial, O]` of the same dtype."""
        kernel = self.kernel.get_value()
        inner = len(kernel.shape) - 1
        flat = x.reshape(math.prod(x.shape[:-inner]), *x.shape[-inner:])
        taken = quantize_array(flat, channel=0) if self.mode == "dynamic" else flat
        places = {"strides": self.strides, "padding": self.padding, "dilation": self.dilation}
        out = qconv(taken, kernel, groups=self.groups, **places)
        out = _plus(out.astype(x.dtype), self.bias)
        return out.reshape(*x.shape[:-inner], *out.shape[1:])


def _bias(bias: Array | None, kernel: QArray) -> nnx.Variable | None:
    if bias is None:
        return None
    if bias.shape != kernel.shape[-1:]:
        raise ValueError(f"a kernel {kernel.shape} needs a bias ({kernel.shape[-1]},), got {bias.shape}")
    return nnx.Variable(bias.astype(jnp.float32))


def _plus(x: Array, bias: nnx.Variable | None) -> Array:
    return x if bias is None else x + along(bias[...].astype(x.dtype), x.ndim, -1)


def _nbytes(layer: Any) -> int:
    return layer.kernel.get_value().nbytes + (0 if layer.bias is None else layer.bias[...].nbytes)


def _padding(padding: Any, places: int) -> Padding:
    if isinstance(padding, str):
        return one_of_names("padding", padding, PADDINGS)
    return tuple((side, side) if isinstance(side, int) else tuple(side) for side in each_axis(padding, places))
