"""Applies a function to the selected members of a batch, at about the cost of those members."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxkit.boundary import differentiable_as, is_traced, widened


def gated(function: Callable[[Any, Any], Any], p: float) -> Callable[[Any, Any, Any], Any]:
    """`f(hit, params, example)`: `function(params, example)` where `hit`, else the example.

    `vmap` of a conditional runs both branches for every member. Here the batching rule gathers the selected members
    into a slice of static capacity (the mean of a binomial count plus three standard deviations), runs on that slice
    and scatters it back; when more were selected, the whole batch is run. The result is the same either way.
    Under differentiation the plain selection is used.

    Args:
      function: keeps structure, shapes and dtypes of the example.
      p: the probability with which members are selected; sets the capacity only.
    """

    def select(hit, params, example):
        return _where(hit, function(params, example), example)

    compact = jax.custom_batching.custom_vmap(select)

    @compact.def_vmap
    def rule(size, batched, hit, params, example):
        arguments = widened(size, batched, (hit, params, example))
        capacity = _capacity(size, p)
        every = jax.vmap(select)
        if capacity == size:
            return every(*arguments), _all_true(example)
        few = _on_slice(select, capacity)
        out = jax.lax.cond(jnp.sum(arguments[0]) <= capacity, few, every, *arguments)
        return out, _all_true(example)

    differentiable = differentiable_as(select, compact)

    def gate(hit, params, example):
        # What is not traced is one example, and a new program per call would only be compiled for it.
        run = differentiable if is_traced((hit, params, example)) else select
        return run(hit, params, example)

    return gate


def _on_slice(select: Callable, capacity: int) -> Callable:
    def run(hit, params, example):
        chosen = jnp.argsort(~hit)[:capacity]
        own = jax.tree.map(lambda leaf: leaf[chosen], (hit, params, example))
        new = jax.vmap(select)(*own)
        return jax.tree.map(lambda whole, part: whole.at[chosen].set(part, unique_indices=True), example, new)

    return run


def _capacity(size: int, p: float) -> int:
    return min(size, math.ceil(size * p + 3.0 * math.sqrt(size * p * (1.0 - p))))


def _where(hit: jax.Array, new: Any, old: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(hit, a, b), new, old)


def _all_true(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: True, tree)
