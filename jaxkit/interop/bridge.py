"""JAX functions that take and return tensors."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import torch

from jaxkit.batch import Batch
from jaxkit.interop.dlpack import array_from_numpy
from jaxkit.interop.dtypes import X64, check_x64, x64_enabled
from jaxkit.interop.fork import require_unforked
from jaxkit.interop.leaves import LeafRefused, convert_all, named_error
from jaxkit.interop.program import Bridge, Call, Program, hand_back, lend

_TENSOR, _ARRAY = "tensor", "array"


def torch_compatible(fn: Callable[..., Any], *, x64: X64 = "error") -> Callable[..., Any]:
    """Makes a JAX function take and return tensors, differentiable by PyTorch.

    Pytrees go in and out, by position and by keyword. Tensors become arrays in the same memory, and results become
    tensors on the same device; JAX has finished when the call returns, so the inputs may be written again. JAX arrays
    among the arguments (keys) and keys among the results pass untouched; other arguments reach `fn` as they are.

    Without gradients `fn` is called as it is, so hand over what is compiled: `torch_compatible(jax.jit(f))`,
    `torch_compatible(batch(op))`. If a floating tensor requires grad, backward runs `jax.vjp` of `fn`, compiled once
    for each combination of shapes, dtypes and values of the arguments that are no arrays (pass numbers that change as
    tensors). It computes `fn` again instead of keeping what lies between. Double backward, `torch.func.grad`,
    `torch.vmap` and autocast work; forward-mode derivatives do not. Inside `torch.compile` the call is a graph break.

    A permuted tensor (`nhwc(images)`) is read in its own layout, without a copy: `fn` is compiled once more for it.

    Args:
      fn: function of JAX arrays, compiled by `jax.jit` or `batch`.
      x64: what to do with float64 and complex128 while JAX's 64-bit mode is off, as in `to_jax`. 64-bit integers that
        fit become 32-bit.

    Returns:
      A function of the same arguments. Its results share no memory with its inputs.

    Raises:
      TypeError, ValueError: when called, for a tensor that JAX cannot take, that is on another device than the first,
        or whose values would change; the message names the argument.
      RuntimeError: when called in a process forked after JAX started.
    """
    check_x64(x64)
    programs: dict[Any, Program] = {}
    host = isinstance(fn, jax.stages.Wrapped | Batch)

    def call(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return torch.compiler.disable(evaluate)(*args, **kwargs)
        return evaluate(*args, **kwargs)

    def evaluate(*args: Any, **kwargs: Any) -> Any:
        require_unforked()
        leaves, structure = jax.tree.flatten((args, kwargs))
        try:
            positions = _tensor_positions(leaves)
            if _needs_autograd([leaves[position] for position in positions]):
                return _differentiable(_program(fn, programs, leaves, structure, host, x64), leaves, positions)
            return _direct(fn, leaves, positions, structure, host, x64)
        except LeafRefused as refused:
            raise _argument_error(refused, args, kwargs) from refused.cause

    return functools.update_wrapper(call, fn, updated=())


def _direct(fn: Callable, leaves: list, positions: list[int], structure: Any, host: bool, x64: str) -> Any:
    """Calls `fn` itself: the same compiled program, and the same bits, as from JAX."""

    def convert(leaf):
        return lend(leaf, x64=x64, host=host) if isinstance(leaf, torch.Tensor) else _checked(leaf, x64=x64)

    args, kwargs = structure.unflatten(convert_all(convert, leaves))
    results, result_structure = hand_back(fn(*args, **kwargs), [leaves[position] for position in positions])
    return result_structure.unflatten(results)


def _differentiable(program: Program, leaves: list, positions: list[int]) -> Any:
    checked = convert_all(functools.partial(_checked, x64=program.x64), leaves)
    call = Call(program, tuple(leaf for leaf in checked if _kind(leaf) == _ARRAY))
    try:
        tensors = iter(Bridge.apply(call, *(leaves[position] for position in positions)))
    except LeafRefused as refused:
        raise LeafRefused(positions[refused.index], refused.cause) from refused.cause
    structure, results = call.outcome[0]
    return structure.unflatten(next(tensors) if result is None else result for result in results)


def _program(fn: Callable, programs: dict, leaves: list, structure: Any, host: bool, x64: str) -> Program:
    """The program for these arguments: `fn` of the arrays among them, the values of all others fixed."""
    kinds = tuple(_kind(leaf) for leaf in leaves)
    key = (structure, kinds, x64_enabled())
    try:
        if key not in programs:
            programs[key] = Program(functools.partial(_run, fn, structure, kinds), host, x64, x64_enabled())
    except TypeError as error:
        raise TypeError(f"arguments that are no arrays must be hashable where gradients are wanted: {error}") from error
    return programs[key]


def _run(fn: Callable, structure: Any, kinds: tuple, others: tuple, tensors: tuple) -> Any:
    sources = {_TENSOR: iter(tensors), _ARRAY: iter(others)}
    leaves = [next(sources[kind]) if isinstance(kind, str) else kind[1] for kind in kinds]
    args, kwargs = structure.unflatten(leaves)
    return fn(*args, **kwargs)


def _kind(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return _TENSOR
    if isinstance(leaf, jax.Array | np.ndarray | np.number | np.bool_):
        return _ARRAY
    return type(leaf), leaf  # the type too, because 1 == 1.0 == True


def _checked(leaf: Any, *, x64: str) -> Any:
    """NumPy arrays as JAX arrays, none of their values changed; other leaves as they are."""
    if isinstance(leaf, np.ndarray | np.number | np.bool_):
        return array_from_numpy(np.asarray(leaf), None, x64)
    return leaf


def _tensor_positions(leaves: list) -> list[int]:
    positions = [position for position, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    for position in positions[1:]:
        device, first = leaves[position].device, leaves[positions[0]].device
        if device != first:
            raise LeafRefused(position, ValueError(f"it is on {device}, the first tensor is on {first}"))
    return positions


def _needs_autograd(tensors: list[torch.Tensor]) -> bool:
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return True
    try:
        for tensor in tensors:
            tensor.data_ptr()
    except RuntimeError:  # tensors inside torch.func transforms have no memory of their own
        return True
    return False


def _argument_error(refused: LeafRefused, args: tuple, kwargs: dict) -> Exception:
    """Names the leaf as the caller sees it: `args[0].image` or `kwargs['image']`."""
    count = len(jax.tree.leaves(args))
    if refused.index < count:
        return named_error(refused, args, "args")
    return named_error(LeafRefused(refused.index - count, refused.cause), kwargs, "kwargs")
