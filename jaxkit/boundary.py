"""A wall that XLA's fusion does not cross."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

Array = jax.Array


def apart(function: Callable[..., Array], *operands: Array) -> Array:
    """`function(*operands)`, computed from operands that exist in memory.

    Where a function reads its operand many times (the taps of a blur, the corners of an interpolation), XLA on CPUs
    likes to fuse the operand's own computation into every read, and repeats it each time;
    `jax.lax.optimization_barrier` does not survive until fusion there. A conditional does: its branches are programs of
    their own. The condition depends on the data but never holds. One conditional serves a whole batch under `vmap`.
    Under differentiation the wall is left out.

    Args:
      function: of arrays, to one array.
      operands: arrays; where the first is empty, so that the condition has nothing to look at, there is no wall.
    """

    @jax.custom_batching.custom_vmap
    def walled(*operands):
        return _conditional(function, operands, operands[0])

    @walled.def_vmap
    def rule(size: int, batched: list[bool], *operands: Array) -> tuple[Array, bool]:
        axes = tuple(0 if flag else None for flag in batched)
        return _conditional(jax.vmap(function, in_axes=axes, axis_size=size), operands, operands[0]), True

    differentiable = jax.custom_jvp(walled)
    differentiable.defjvp(lambda primals, tangents: jax.jvp(function, primals, tangents))
    return differentiable(*operands)


def _conditional(function: Callable, operands: tuple, witness: Array) -> Array:
    if 0 in witness.shape:
        return function(*operands)
    out = jax.eval_shape(function, *operands)
    never = _impossible(witness[(0,) * witness.ndim])
    return jax.lax.cond(never, lambda *_: jnp.zeros(out.shape, out.dtype), function, *operands)


def _impossible(value: Any) -> Array:
    """False whatever the value, in a way that no compiler pass proves."""
    if jnp.issubdtype(value.dtype, jnp.floating):
        return value * value == -1
    return (value >> 2).astype(jnp.int32) == jnp.iinfo(jnp.int32).max
