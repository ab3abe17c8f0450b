"""Depthwise convolutions in JAX, as XLA has them and as jaxkit has them, each on an input of its own."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Layer(NamedTuple):
    """A layer: side of its square input, channels, side of its kernel, stride."""

    side: int
    channels: int
    kernel: int
    stride: int

    @property
    def title(self) -> str:
        return f"{self.side}x{self.side}x{self.channels}, {self.kernel}x{self.kernel}, stride {self.stride}"

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Input `[1, H, W, C]` and kernel `[k, k, 1, C]`, float32, always the same."""
        rng = np.random.default_rng(0)
        shapes = (1, self.side, self.side, self.channels), (self.kernel, self.kernel, 1, self.channels)
        return tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)

    @property
    def padding(self) -> tuple[int, int]:
        """Before and after each side, as PyTorch pads."""
        return (self.kernel // 2, self.kernel // 2)


LAYERS = (
    Layer(112, 96, 3, 2),
    Layer(56, 128, 3, 1),
    Layer(28, 240, 5, 2),
    Layer(14, 384, 3, 1),
    Layer(14, 384, 5, 1),
    Layer(7, 1152, 5, 1),
)


def open_session(*, layer: list[int], kind: str, threads: int) -> Callable[[Any], np.ndarray]:
    """A call that ignores what it is given and convolves the layer's own input, which lies on the device.

    Args:
      layer: the fields of a `Layer`.
      kind: "lax" or "jaxkit".
      threads: unused, XLA's are set for the process.
    """
    import jax
    from jax import lax

    from jaxkit.nn import conv_general_dilated

    del threads
    chosen = Layer(*layer)
    function = {"lax": lax.conv_general_dilated, "jaxkit": conv_general_dilated}[kind]
    x, kernel = (jax.device_put(array) for array in chosen.arrays())
    settings = {"dimension_numbers": ("NHWC", "HWIO", "NHWC"), "feature_group_count": chosen.channels}
    steps = (chosen.stride,) * 2
    run = jax.jit(lambda x, kernel: function(x, kernel, steps, (chosen.padding,) * 2, **settings))
    return lambda _: jax.block_until_ready(run(x, kernel))
