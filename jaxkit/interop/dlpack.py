"""Pytrees of arrays across the border between PyTorch and JAX.

Of each array there is either a copy, or one memory seen from both sides. Sharing is fast and unsafe: JAX takes arrays
for immutable and runs asynchronously, so a later write or resize in PyTorch changes, or frees, what JAX is reading.
Therefore both directions copy unless they are asked not to, and `borrow` shares for the length of a block, checked.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from jaxkit.interop.dtypes import TO_NUMPY, TO_TORCH, X64, check_x64, narrow_to, narrowed, numpy_view, torch_view
from jaxkit.interop.fork import require_unforked
from jaxkit.interop.leaves import describe, map_leaves

ALIGNMENT = 64  # bytes; XLA copies host buffers that do not begin on such an address


def to_jax(tree: Any, *, copy: bool | None = True, x64: X64 = "error") -> Any:
    """Turns the tensors and NumPy arrays of a pytree into JAX arrays, keeping shapes and dtypes.

    Numbers, text, None and JAX arrays (keys and tracers too) are returned as they are. While JAX's 64-bit mode is off,
    int64 and uint64 become int32 and uint32 if every value fits (labels do; on a GPU looking costs a synchronisation).

    Args:
      tree: pytree with leaves of `torch.Tensor` or `np.ndarray`, any strides.
      copy: True copies, so that the input may be written afterwards. The result is row-major, and lies where JAX puts
        NumPy arrays (a CUDA tensor stays on its GPU). None shares memory where it can, False shares or raises: nobody
        may write to or resize the input while JAX uses the array. A shared permuted tensor keeps its memory layout, and
        JAX compiles a program once more for each layout.
      x64: "error" refuses float64 and complex128 while JAX's 64-bit mode is off; "cast" rounds them to 32 bits.
        Integers that do not fit are always refused.

    Returns:
      The pytree with `jax.Array` leaves.

    Raises:
      TypeError: for a dtype, memory format or type that JAX lacks; ValueError: for values that would change, a tensor
        that requires grad (outside `torch.no_grad`), or `copy=False` where sharing is impossible. Both name the leaf.
      RuntimeError: in a process forked after JAX started.
    """
    require_unforked()
    check_x64(x64)
    return map_leaves(lambda leaf: _array_of(leaf, copy, x64), tree)


def to_torch(tree: Any, *, copy: bool | None = True) -> Any:
    """Turns the JAX and NumPy arrays of a pytree into tensors, keeping shapes and dtypes, once JAX has computed them.

    Numbers, text, None and tensors are returned as they are. A JAX array gives a tensor on its device.

    Args:
      tree: pytree with leaves of `jax.Array` or `np.ndarray`.
      copy: True copies, so that the tensors may be written. None shares where it can, False shares or raises: a write
        to the tensor would change the JAX array, which everybody else takes for immutable.

    Returns:
      The pytree with `torch.Tensor` leaves.

    Raises:
      TypeError: for PRNG keys, tracers and dtypes that PyTorch lacks; ValueError: for arrays that are deleted or spread
        over several devices, or `copy=False` where sharing is impossible. Both name the leaf.
      RuntimeError: in a process forked after JAX started.
    """
    require_unforked()
    return map_leaves(lambda leaf: tensor_of(leaf, copy), tree)


def nhwc(images: torch.Tensor) -> torch.Tensor:
    """Views `[..., C, H, W]` as `[..., H, W, C]`: the same memory, only the strides change."""
    return _check_images(images).movedim(-3, -1)


def nchw(images: torch.Tensor) -> torch.Tensor:
    """Views `[..., H, W, C]` as `[..., C, H, W]`: the same memory (what PyTorch calls channels_last)."""
    return _check_images(images).movedim(-1, -3)


def explain(tree: Any) -> str:
    """A table of what `to_jax(tree, copy=None)` would do with each leaf: share, copy and why, or refuse and why."""
    rows = [("leaf", "dtype and shape", "to JAX")]
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        rows.append((f"tree{jax.tree_util.keystr(path)}", describe(leaf), _fate(leaf)))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return "\n".join(f"{name:{widths[0]}}  {kind:{widths[1]}}  {fate}" for name, kind, fate in rows)


def check_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor without its graph, if JAX has its kind of tensor; raises TypeError or ValueError if not."""
    if tensor.layout != torch.strided or tensor.is_nested:
        raise TypeError(f"JAX has no {tensor.layout} tensors; call .to_dense() or pad it first")
    if tensor.dtype not in TO_NUMPY:
        raise TypeError(f"JAX has no {tensor.dtype}; convert it first (.dequantize(), .float(), torch.view_as_real)")
    if tensor.device.type == "meta":
        raise ValueError("a meta tensor has no values; use jax.ShapeDtypeStruct for its shape")
    if tensor.requires_grad and torch.is_grad_enabled():
        raise ValueError("it requires grad; use torch_compatible to keep the gradient, or .detach() to drop it")
    return tensor.detach()


def obstacle(tensor: torch.Tensor) -> str | None:
    """Why JAX cannot use the memory of the tensor as it is, or None if it can."""
    narrow = narrow_to(TO_NUMPY[tensor.dtype])
    if narrow is not None:
        return f"JAX's 64-bit mode is off, it has to become {narrow}"
    if tensor.is_conj() or tensor.is_neg():
        return "it is a conjugate or negative view"
    if not is_compact(tensor):
        return f"its strides {tensor.stride()} leave gaps or overlap"
    if tensor.device.type == "cpu" and tensor.data_ptr() % ALIGNMENT:
        return f"its memory does not begin on a multiple of {ALIGNMENT} bytes"
    return None


def is_compact(tensor: torch.Tensor) -> bool:
    """Whether the tensor, perhaps after a permutation of its dimensions, is row-major without gaps."""
    if tensor.is_contiguous():
        return True
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


def plain_copy(tensor: torch.Tensor, x64: str) -> torch.Tensor:
    """A row-major copy in a dtype that JAX keeps, whose memory nobody else knows."""
    tensor = tensor.resolve_conj().resolve_neg()
    if narrow_to(TO_NUMPY[tensor.dtype]) is not None:
        tensor = narrowed(tensor, TO_NUMPY[tensor.dtype], x64)
    return tensor.clone(memory_format=torch.contiguous_format)


def share(tensor: torch.Tensor) -> jax.Array:
    """A JAX array in the memory of a tensor without `obstacle`."""
    # A tensor object of its own does not follow set_() and .data = of the caller's.
    return jax.dlpack.from_dlpack(tensor.detach())


def tensor_of(leaf: Any, copy: bool | None) -> Any:
    """`to_torch` of one leaf."""
    if isinstance(leaf, jax.Array):
        return _tensor_from_array(leaf, copy)
    if isinstance(leaf, np.ndarray | np.generic) and not isinstance(leaf, str | bytes):
        return _tensor_from_numpy(np.asarray(leaf), copy)
    if isinstance(leaf, torch.Tensor | bool | int | float | complex | str | bytes):
        return leaf
    raise TypeError("it is neither an array, a number nor text; register its class as a pytree or take it out")


def _array_of(leaf: Any, copy: bool | None, x64: str) -> Any:
    if isinstance(leaf, torch.Tensor):
        return _array_from_tensor(check_tensor(leaf), copy, x64)
    if isinstance(leaf, np.ndarray | np.generic) and not isinstance(leaf, str | bytes):
        return array_from_numpy(np.asarray(leaf), copy, x64)
    if isinstance(leaf, jax.Array | bool | int | float | complex | str | bytes):
        return leaf
    raise TypeError("it is neither an array, a number nor text; register its class as a pytree or take it out")


def _array_from_tensor(tensor: torch.Tensor, copy: bool | None, x64: str) -> jax.Array:
    reason = "" if copy else obstacle(tensor)
    if copy is False and reason:
        raise ValueError(f"copy=False, but it must be copied: {reason}")
    if reason is None:
        return share(tensor)
    own = plain_copy(tensor, x64)
    return jax.device_put(numpy_view(own)) if copy and own.device.type == "cpu" else share(own)


def array_from_numpy(array: np.ndarray, copy: bool | None, x64: str) -> jax.Array:
    """`to_jax` of one NumPy array."""
    native = array.dtype.newbyteorder("=")
    if native not in TO_TORCH:
        raise TypeError(f"JAX has no {array.dtype}; convert it first")
    if copy is False:
        return _share_numpy(array)
    if narrow_to(native) is not None:
        return jax.device_put(narrowed(array, native, x64))
    array = array.astype(native, copy=False)
    return jnp.array(array) if copy else jax.device_put(array)


def _share_numpy(array: np.ndarray) -> jax.Array:
    if narrow_to(array.dtype) is not None:
        raise ValueError(f"copy=False, but JAX's 64-bit mode is off, it has to become {narrow_to(array.dtype)}")
    shared = jax.device_put(array) if array.dtype.isnative else None
    if shared is None or array.size and shared.unsafe_buffer_pointer() != array.ctypes.data:
        raise ValueError(
            f"copy=False, but it must be copied: JAX shares row-major arrays in native byte order that begin on a "
            f"multiple of {ALIGNMENT} bytes, on the CPU"
        )
    return shared


def _tensor_from_array(array: jax.Array, copy: bool | None) -> torch.Tensor:
    if isinstance(array, jax.core.Tracer):
        raise TypeError("it is traced and has no values; call to_torch outside jax.jit, jax.grad and jax.vmap")
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        raise TypeError("PyTorch has no PRNG keys; pass jax.random.key_data(key), and come back by wrap_key_data")
    if array.dtype not in TO_TORCH:
        raise TypeError(f"PyTorch has no {array.dtype}; convert it first, such as with .astype(jnp.float32)")
    if array.is_deleted():
        raise ValueError("it has been deleted or donated to a jitted function")
    if len(array.sharding.device_set) > 1:
        raise ValueError("it lies on several devices; gather it with jax.device_get first")
    tensor = torch.from_dlpack(jax.block_until_ready(array))
    return tensor.clone(memory_format=torch.contiguous_format) if copy else tensor


def _tensor_from_numpy(array: np.ndarray, copy: bool | None) -> torch.Tensor:
    native = array.dtype.newbyteorder("=")
    if native not in TO_TORCH:
        raise TypeError(f"PyTorch has no {array.dtype}; convert it first")
    shareable = array.flags.writeable and array.dtype.isnative and min(array.strides, default=0) >= 0
    if copy is False and not shareable:
        raise ValueError("copy=False, but it must be copied: it is read-only, byte-swapped or has negative strides")
    if copy or not shareable:
        array = np.array(array, native, order="C")
    return torch_view(array)


def _fate(leaf: Any) -> str:
    try:
        if not isinstance(leaf, torch.Tensor):
            return "unchanged" if _array_of(leaf, None, "error") is leaf else "copied unless its memory is aligned"
        tensor = check_tensor(leaf)
        reason = obstacle(tensor)
        if reason is not None:
            plain_copy(tensor, "error")
    except (TypeError, ValueError) as error:
        return f"refused: {error}"
    if reason is not None:
        return f"copied: {reason}"
    return "shared" if tensor.is_contiguous() else "shared, in a layout of its own (one more compilation)"


def _check_images(images: torch.Tensor) -> torch.Tensor:
    if not isinstance(images, torch.Tensor) or images.ndim < 3:
        raise TypeError(f"needs a tensor of at least 3 dimensions, got {describe(images)}")
    return images
