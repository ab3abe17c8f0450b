"""Walls in a compiled program: one that XLA's fusion does not cross, one that a batch does not cross."""

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
        Nor is there one where nothing is traced: what runs operation by operation is not fused.
    """
    if not is_traced(operands):
        return function(*operands)

    @jax.custom_batching.custom_vmap
    def walled(*operands):
        return _conditional(function, operands, operands[0])

    @walled.def_vmap
    def rule(size: int, batched: list[bool], *operands: Array) -> tuple[Array, bool]:
        axes = tuple(0 if flag else None for flag in batched)
        return _conditional(jax.vmap(function, in_axes=axes, axis_size=size), operands, operands[0]), True

    return differentiable_as(function, walled)(*operands)


def member_by_member(function: Callable[..., Any], *operands: Any) -> Any:
    """`function(*operands)`, which under `vmap` runs for one member of the batch after the other.

    Vector instructions fuse a product and a sum into one rounding, or do not, depending on how many members there are.
    A program that only ever sees one member has the same bits in any batch. For small results: the members wait for
    each other. Under differentiation the plain function is used.

    Args:
      function: of pytrees of arrays, to a pytree of arrays.
      operands: pytrees of arrays.
    """

    def rule(size: int, batched: Any, *operands: Any) -> Any:
        every = widened(size, batched, operands)
        # XLA dissolves a loop of one step, and what it then makes of the step is not what it makes within a loop.
        every = jax.tree.map(lambda leaf: jnp.concatenate([leaf, leaf]), every) if size == 1 else every
        out = jax.lax.map(lambda member: member_by_member(function, *member), every)
        return jax.tree.map(lambda leaf: leaf[:size], out)

    return _batched_by(rule, function, operands)


def in_turn(function: Callable[..., Any], *operands: Any) -> Any:
    """`function(*operands)`, which under `vmap` on a CPU runs for one member of the batch after the other.

    Where the intermediate results of one member fit into the cache and those of a batch do not, a CPU is up to twice
    as fast this way. Elsewhere, and under differentiation, the members run at once.

    Args:
      function: of pytrees of arrays, to a pytree of arrays.
      operands: pytrees of arrays.
    """

    def rule(size: int, batched: Any, *operands: Any) -> Any:
        axes = jax.tree.map(lambda flag: 0 if flag else None, tuple(batched))
        at_once = jax.vmap(function, in_axes=axes, axis_size=size)
        looped = lambda *own: jax.lax.map(lambda member: function(*member), widened(size, batched, own))  # noqa: E731
        return jax.lax.platform_dependent(*operands, cpu=looped, default=at_once)

    return _batched_by(rule, function, operands)


def _batched_by(rule: Callable[..., Any], function: Callable[..., Any], operands: tuple) -> Any:
    """`function(*operands)`, which `vmap` batches by `rule(size, batched, *operands)`; differentiated as it is."""
    if not is_traced(operands):
        return function(*operands)
    special = jax.custom_batching.custom_vmap(function)

    @special.def_vmap
    def batched_rule(size: int, batched: list[bool], *operands: Any) -> tuple[Any, Any]:
        out = rule(size, batched, *operands)
        return out, jax.tree.map(lambda leaf: True, out)

    return differentiable_as(function, special)(*operands)


def is_traced(tree: Any) -> bool:
    """Whether a leaf is part of a program that is being built, rather than a value."""
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))


def widened(size: int, batched: Any, operands: Any) -> Any:
    """The operands of a batching rule, each leaf with a leading axis of `size`, also those that members share."""

    def widen(flag, leaf):
        return leaf if flag else jnp.broadcast_to(leaf, (size, *leaf.shape))

    return jax.tree.map(widen, tuple(batched), operands)


def differentiable_as(plain: Callable, special: Callable) -> Callable:
    """`special`, which is not differentiable, with the derivatives of `plain`, which computes the same."""
    function = jax.custom_jvp(special)
    function.defjvp(lambda primals, tangents: jax.jvp(plain, primals, tangents))
    return function


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
