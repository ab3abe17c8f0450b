"""Depthwise convolutions in PyTorch, in both of its memory formats."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks.network_depthwise import Layer

FORMATS = {"torch": torch.contiguous_format, "torch, channels last": torch.channels_last}


def open_session(*, layer: list[int], kind: str, threads: int) -> Callable[[Any], np.ndarray]:
    """A call that ignores what it is given and convolves the layer's own input; the result is seen as `[N, H, W, C]`.

    Args:
      layer: the fields of a `Layer`.
      kind: a name in `FORMATS`.
      threads: of PyTorch.
    """
    torch.set_num_threads(threads)
    chosen = Layer(*layer)
    x, kernel = chosen.arrays()
    x = torch.from_numpy(x.transpose(0, 3, 1, 2).copy()).contiguous(memory_format=FORMATS[kind])
    kernel = torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy()).contiguous(memory_format=FORMATS[kind])
    settings = {"stride": chosen.stride, "padding": chosen.kernel // 2, "groups": chosen.channels}

    def run(_: Any) -> np.ndarray:
        with torch.inference_mode():
            return torch.nn.functional.conv2d(x, kernel, **settings).numpy().transpose(0, 2, 3, 1)

    return run
