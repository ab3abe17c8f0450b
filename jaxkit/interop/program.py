"""Programs on tensors and their derivatives.

A program borrows the memory of its input tensors, waits for the results and wraps their memory as tensors: nothing is
copied. One `autograd.Function` serves all orders of differentiation: the backward pass of a program is again a program,
its pullback, and is evaluated by the same function.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from jaxkit.interop.dlpack import check_tensor, is_compact, plain_copy, share, tensor_of
from jaxkit.interop.dtypes import TO_NUMPY, narrow_to, numpy_view
from jaxkit.interop.leaves import LeafRefused, convert_all, named_error


@dataclasses.dataclass(frozen=True, eq=False)
class Program:
    """A JAX function of flat arguments, `run(others, tensors) -> pytree`, and the programs derived from it.

    Attributes:
      run: takes as two tuples the arrays that came as JAX or NumPy arrays, and those that came as tensors.
      host: whether `run` is compiled, so that NumPy views of tensors may be handed to it.
      x64: "error" or "cast", see `to_jax`.
      wide: whether it runs in 64-bit mode. Backward passes may run in another thread, or after the mode was left.
      derived: its pullbacks and mapped versions, so that each is compiled once.
    """

    run: Callable[[tuple, tuple], Any]
    host: bool
    x64: str
    wide: bool
    derived: dict = dataclasses.field(default_factory=dict)

    def pullback(self, count: int, wrt: tuple[int, ...]) -> "Program":
        """The program `(inputs + cotangents of the floating results) -> gradients of the inputs wrt`."""
        return self._derive(("pullback", count, wrt), functools.partial(_pull, self.run, count, wrt))

    def mapped(self, axes: tuple[int | None, ...]) -> "Program":
        """The program for tensors with one more axis, at `axes`; the results have it in front."""
        return self._derive(("mapped", axes), jax.vmap(self.run, in_axes=(None, axes)))

    def _derive(self, key: Any, run: Callable[[tuple, tuple], Any]) -> "Program":
        if key not in self.derived:
            self.derived[key] = Program(jax.jit(run), True, self.x64, self.wide)
        return self.derived[key]


@dataclasses.dataclass(frozen=True)
class Call:
    """One evaluation of a program.

    Attributes:
      outcome: receives what autograd does not carry: the structure of the results, and those that are no tensors.
    """

    program: Program
    others: tuple
    outcome: list = dataclasses.field(default_factory=list)


class Bridge(torch.autograd.Function):
    """`Bridge.apply(call, *tensors)` evaluates a program, and returns those of its results that are tensors."""

    @staticmethod
    def forward(call: Call, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Evaluates, on tensors with memory."""
        program = call.program
        with jax.enable_x64(program.wide):
            lent = convert_all(functools.partial(lend, x64=program.x64, host=program.host), tensors)
            results, structure = hand_back(program.run(call.others, tuple(lent)), tensors)
        call.outcome.append((structure, [None if isinstance(result, torch.Tensor) else result for result in results]))
        return tuple(result for result in results if isinstance(result, torch.Tensor))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple[torch.Tensor, ...]) -> None:
        """Keeps the inputs only: backward computes the rest again."""
        call, *tensors = inputs
        ctx.program, ctx.others = call.program, call.others
        ctx.floating = [_is_floating(tensor) for tensor in output]
        ctx.mark_non_differentiable(*(tensor for tensor in output if not _is_floating(tensor)))
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Evaluates the pullback with respect to the floating inputs that need it; None for the others."""
        inputs = ctx.saved_tensors
        needed = zip(inputs, ctx.needs_input_grad[1:], strict=True)
        wrt = tuple(index for index, (tensor, need) in enumerate(needed) if need and _is_floating(tensor))
        floating = [value for value, is_floating in zip(cotangents, ctx.floating, strict=True) if is_floating]
        call = Call(ctx.program.pullback(len(inputs), wrt), ctx.others)
        gradients = dict(zip(wrt, Bridge.apply(call, *inputs, *floating), strict=True))
        return None, *(gradients.get(index) for index in range(len(inputs)))

    @staticmethod
    def vmap(info: Any, in_dims: tuple, call: Call, *tensors: torch.Tensor) -> tuple[tuple, tuple]:
        """Evaluates the mapped program once."""
        mapped = dataclasses.replace(call, program=call.program.mapped(tuple(in_dims[1:])))
        results = Bridge.apply(mapped, *tensors)
        return results, (0,) * len(results)


def lend(tensor: torch.Tensor, *, x64: str, host: bool) -> jax.Array | np.ndarray:
    """The tensor for JAX to read during a call, in its own memory where that is possible.

    With `host`, a NumPy view where that will do: `jax.jit` reads it in place at no cost, where making a `jax.Array` of
    it first takes tens of microseconds.
    """
    tensor = check_tensor(tensor)
    if tensor.is_conj() or tensor.is_neg() or narrow_to(TO_NUMPY[tensor.dtype]) or not is_compact(tensor):
        tensor = plain_copy(tensor, x64)
    # Arrays made from NumPy are not bound to a device: `fn` is not compiled once more beside its use from JAX.
    if tensor.device.type == "cpu" and tensor.is_contiguous() and jax.default_backend() == "cpu":
        return numpy_view(tensor) if host else jax.device_put(numpy_view(tensor))
    return share(tensor)


def hand_back(results: Any, inputs: Sequence[torch.Tensor]) -> tuple[list, Any]:
    """The leaves of the finished results, arrays as tensors, and their structure.

    What came back in the memory of an input, or twice, is copied.
    """
    leaves, structure = jax.tree.flatten(jax.block_until_ready(results))
    taken = {tensor.data_ptr() for tensor in inputs}

    def own(leaf):
        if not isinstance(leaf, jax.Array | np.ndarray) or jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return leaf
        tensor = tensor_of(leaf, None)
        tensor = tensor.clone() if tensor.data_ptr() in taken else tensor
        taken.add(tensor.data_ptr())
        return tensor

    try:
        return convert_all(own, leaves), structure
    except LeafRefused as refused:
        raise named_error(refused, results, "result") from refused.cause


def _pull(run: Callable, count: int, wrt: tuple[int, ...], others: tuple, arrays: tuple) -> tuple:
    inputs, cotangents = arrays[:count], arrays[count:]

    def floating_results(*picked):
        chosen = dict(zip(wrt, picked, strict=True))
        results = run(others, tuple(chosen.get(index, value) for index, value in enumerate(inputs)))
        arrays = [leaf for leaf in jax.tree.leaves(results) if isinstance(leaf, jax.Array | np.ndarray)]
        return [array for array in arrays if jnp.issubdtype(array.dtype, jnp.inexact)]

    # What one library calls the gradient of a complex value is its conjugate in the other.
    _, pull = jax.vjp(floating_results, *(inputs[index] for index in wrt))
    return tuple(_conjugate(gradient) for gradient in pull([_conjugate(cotangent) for cotangent in cotangents]))


def _conjugate(values: jax.Array) -> jax.Array:
    return jnp.conj(values) if jnp.iscomplexobj(values) else values


def _is_floating(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()
