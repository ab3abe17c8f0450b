"""The dtypes that PyTorch and JAX share, and what is done with 64-bit values while JAX's 64-bit mode is off."""

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import torch

X64 = Literal["error", "cast"]

_NATIVE = "bool uint8 int8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()
_EXTENDED = "bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu".split()
_BITS = {1: torch.uint8, 2: torch.int16}

TO_NUMPY = {getattr(torch, name): np.dtype(getattr(jnp, name)) for name in _NATIVE + _EXTENDED}
TO_TORCH = {dtype: name for name, dtype in TO_NUMPY.items()}
NARROWER = {
    np.dtype(np.int64): np.dtype(np.int32),
    np.dtype(np.uint64): np.dtype(np.uint32),
    np.dtype(np.float64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.complex64),
}


def x64_enabled() -> bool:
    """Whether JAX keeps 64-bit values in this thread, now."""
    return bool(jax.config.jax_enable_x64)


def check_x64(x64: str) -> None:
    """Raises ValueError for an unknown rule."""
    if x64 not in ("error", "cast"):
        raise ValueError(f'x64 must be "error" or "cast", got {x64!r}')


def narrow_to(dtype: np.dtype) -> np.dtype | None:
    """The dtype that JAX would narrow `dtype` to, or None where it keeps it."""
    return None if x64_enabled() else NARROWER.get(dtype)


def numpy_view(tensor: torch.Tensor) -> np.ndarray:
    """The memory of a CPU tensor as a NumPy array, also of dtypes that `Tensor.numpy` refuses (bfloat16, float8)."""
    dtype = TO_NUMPY[tensor.dtype]
    if dtype.isbuiltin == 1:
        return tensor.numpy()
    return tensor.view(_BITS[dtype.itemsize]).numpy().view(dtype)


def torch_view(array: np.ndarray) -> torch.Tensor:
    """The memory of a writable NumPy array of a shared dtype as a tensor."""
    if array.dtype.isbuiltin == 1:
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(f"i{array.itemsize}")).view(TO_TORCH[array.dtype])


def narrowed(values: Any, dtype: np.dtype, x64: str) -> Any:
    """A copy of a tensor or NumPy array of the 64-bit `dtype` in its 32-bit dtype.

    Raises:
      ValueError: for integers that do not fit, and, unless `x64` is "cast", for floating and complex values.
    """
    narrow = NARROWER[dtype]
    enable = 'Turn 64-bit mode on (jax.config.update("jax_enable_x64", True))'
    if dtype.kind in "iu":
        bounds, limits = _bounds(values), np.iinfo(narrow)
        if bounds and (bounds[0] < limits.min or bounds[1] > limits.max):
            raise ValueError(f"its values {bounds[0]} to {bounds[1]} do not fit {narrow}, JAX's dtype for it. {enable}")
    elif x64 != "cast":
        raise ValueError(f'JAX would round it to {narrow}. {enable}, convert it, or pass x64="cast"')
    return values.to(TO_TORCH[narrow]) if isinstance(values, torch.Tensor) else values.astype(narrow)


def _bounds(values: Any) -> tuple[int, int] | None:
    if isinstance(values, torch.Tensor) and values.dtype == torch.uint64:
        values = values.cpu().numpy()
    if 0 in values.shape:
        return None
    return int(values.min()), int(values.max())
