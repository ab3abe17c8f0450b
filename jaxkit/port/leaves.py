"""Results of any program as named NumPy leaves, so that two sides can be compared value by value."""

from typing import Any, NamedTuple

import jax
import numpy as np


class Leaf(NamedTuple):
    """One array of a result, and its place in it such as `result['mel'][0]`."""

    path: str
    value: np.ndarray


def to_numpy(leaf: Any) -> np.ndarray:
    """Read one leaf as NumPy: JAX and torch tensors, PRNG keys, images, numbers.

    Torch is not imported: whatever has `detach` is detached and moved to the host first.

    Raises:
      ValueError: if it is no array.
    """
    if hasattr(leaf, "detach"):
        leaf = leaf.detach().cpu()
        leaf = leaf.float() if "bfloat16" in str(leaf.dtype) else leaf
        return leaf.numpy()
    if isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    value = np.asarray(leaf)
    if value.dtype == object:
        raise ValueError(f"{type(leaf).__name__} is not an array: return arrays, numbers or pytrees of them")
    return value


def leaves(result: Any) -> list[Leaf]:
    """All arrays of a result with their places, in the order of the pytree."""
    flat, _ = jax.tree.flatten_with_path(result)
    return [Leaf("result" + jax.tree_util.keystr(path), to_numpy(value)) for path, value in flat]


def describe(value: np.ndarray) -> str:
    """dtype and shape in short, such as `uint8[64, 512, 3]`."""
    return f"{value.dtype}{list(value.shape)}"


def place(leaf: Leaf, flat_index: int) -> str:
    """Where one value sits, such as `result['mel'][3, 17]`."""
    index = np.unravel_index(flat_index, leaf.value.shape)
    return leaf.path + (f"[{', '.join(str(int(i)) for i in index)}]" if index else "")


def mismatch(reference: Any, rewrite: Any, *, dtypes: bool = True) -> str | None:
    """Say how two results differ in structure, shape or dtype, or None. The sentence names both sides."""
    wanted, found = jax.tree.structure(reference), jax.tree.structure(rewrite)
    if wanted != found:
        return f"the structure differs: the reference gives {wanted}, the rewrite gives {found}"
    for a, b in zip(leaves(reference), leaves(rewrite), strict=True):
        if a.value.shape != b.value.shape or (dtypes and a.value.dtype != b.value.dtype):
            what = "shape" if a.value.shape != b.value.shape else "dtype"
            return (
                f"the {what} of {a.path} differs: the reference gives {describe(a.value)}, "
                f"the rewrite gives {describe(b.value)}"
            )
    return None


def own_copy(inputs: Any) -> Any:
    """Copy the arrays of a pytree that a program could write into, so that one side cannot change the other's."""
    return jax.tree.map(_own, inputs)


def _own(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        return leaf.copy()
    return leaf.clone() if hasattr(leaf, "detach") else leaf


def array_like(leaf: Any) -> bool:
    """Whether a leaf is an array that a program traces; numbers, strings and None are part of the program."""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.dtype.kind in "biufcV"
    return isinstance(leaf, jax.Array)
