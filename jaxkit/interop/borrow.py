"""Sharing tensors with JAX for the length of a block, and noticing when that went wrong."""

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import torch

from jaxkit.interop.dlpack import check_tensor, obstacle, share
from jaxkit.interop.fork import require_unforked
from jaxkit.interop.leaves import LeafRefused, map_leaves, named_error


class _Loan(NamedTuple):
    """A lent tensor, the array that shares its memory, and what must still hold when it is given back."""

    tensor: torch.Tensor
    array: jax.Array
    state: tuple[int, int, int]


@contextlib.contextmanager
def borrow(tree: Any) -> Iterator[Any]:
    """Lends the memory of a pytree of tensors to JAX for a `with` block, without any copy.

        with borrow(batch) as arrays:
            result = step(arrays)

    At the end of the block `arrays` are deleted, after every live JAX array has been computed: from then on the tensors
    may be written again. Writes through PyTorch inside the block are noticed, those through NumPy views or `.data` are
    not.

    Args:
      tree: pytree of tensors that need no copy, see `explain`. Leaves that are no tensors or NumPy arrays pass.

    Yields:
      The pytree with `jax.Array` leaves.

    Raises:
      TypeError, ValueError: for a leaf that cannot be shared, named by its path.
      RuntimeError: at the end of the block, if a tensor was written to, resized or pointed elsewhere within it: what
        JAX computed from it is then undefined. Also in a process forked after JAX started.
    """
    require_unforked()
    loans: list[_Loan] = []
    arrays = map_leaves(lambda leaf: _lend(leaf, loans), tree)
    try:
        yield arrays
    finally:
        jax.block_until_ready([array for array in jax.live_arrays() if not array.is_deleted()])
        for loan in loans:
            loan.array.delete()
    _check_returned(tree, loans)


def _lend(leaf: Any, loans: list[_Loan]) -> Any:
    if not isinstance(leaf, torch.Tensor):
        if hasattr(leaf, "__array_interface__"):
            raise TypeError("only tensors can be borrowed, writes to NumPy arrays go unnoticed; use to_jax")
        return leaf
    if leaf.is_inference():
        raise ValueError("writes to a tensor made in inference mode go unnoticed; use to_jax, or clone it outside")
    tensor = check_tensor(leaf)
    reason = obstacle(tensor)
    if reason is not None:
        raise ValueError(f"it cannot be shared: {reason}; use to_jax")
    loans.append(_Loan(leaf, share(tensor), _state(leaf)))
    return loans[-1].array


def _state(tensor: torch.Tensor) -> tuple[int, int, int]:
    return tensor._version, tensor.data_ptr(), tensor.untyped_storage().nbytes()


def _check_returned(tree: Any, loans: list[_Loan]) -> None:
    for loan in loans:
        if _state(loan.tensor) != loan.state:
            index = [leaf is loan.tensor for leaf in jax.tree.leaves(tree)].index(True)
            change = RuntimeError("it was written to, resized or pointed elsewhere while JAX used its memory")
            raise RuntimeError(str(named_error(LeafRefused(index, change), tree, "tree")))
