"""Rewrite slow array programs as compiled, batched JAX functions, and prove that the swap computes the same.

The shape of everything random is `Op(draw, apply)` on one example; `batch` compiles it for many. Rooms: `warp`, `image`
and `ocr` hold ops on pictures, `audio` features of sound and ops on it, `interop` the border with PyTorch, `port` the
harness behind `jaxkit prove`.
"""

from jaxkit import audio, image, interop, noise, ocr, warp
from jaxkit.batch import Batch, batch
from jaxkit.op import Op, chain, maybe, one_of, stateless
from jaxkit.records import Clip, Features, Sample

__all__ = [
    "Batch",
    "Clip",
    "Features",
    "Op",
    "Sample",
    "audio",
    "batch",
    "chain",
    "image",
    "interop",
    "maybe",
    "noise",
    "ocr",
    "one_of",
    "stateless",
    "warp",
]
