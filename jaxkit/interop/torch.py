"""The door between PyTorch and JAX.

- `torch_compatible(fn)`: a JAX function as a function of tensors, with gradients.
- `to_jax`, `to_torch`: pytrees of arrays across the border, copied unless asked not to.
- `borrow`: one memory seen from both sides for the length of a block, checked.
- `nhwc`, `nchw`: the other order of image axes, as a view.
- `explain`: what would be shared or copied, and why.
"""

try:
    from jaxkit.interop.borrow import borrow
    from jaxkit.interop.bridge import torch_compatible
    from jaxkit.interop.dlpack import explain, nchw, nhwc, to_jax, to_torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ImportError("jaxkit.interop.torch needs PyTorch, which is an extra: pip install 'jaxkit[torch]'") from error

__all__ = ["borrow", "explain", "nchw", "nhwc", "to_jax", "to_torch", "torch_compatible"]
