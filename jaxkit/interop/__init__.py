"""The border with other libraries: ragged images and worker processes here, PyTorch in `jaxkit.interop.torch`.

What this folder re-exports needs NumPy only. The part that needs PyTorch is imported by its own name:

    from jaxkit.interop.torch import borrow, explain, nchw, nhwc, to_jax, to_torch, torch_compatible

Importing this folder also makes JAX work in a worker that was forked too late an error instead of a hang; see `fork`.
"""

from jaxkit.interop.fork import jax_started, require_unforked
from jaxkit.interop.host import bucket_of, buckets, numpy_collate, stack, unstack

__all__ = [
    "bucket_of",
    "buckets",
    "jax_started",
    "numpy_collate",
    "require_unforked",
    "stack",
    "unstack",
]
