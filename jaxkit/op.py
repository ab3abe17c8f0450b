"""The one shape: an op is a pair of pure functions about one example, and these are the ways to combine ops."""

import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxkit.gate import gated
from jaxkit.ranges import probability

Params = Any
Example = Any


class Op(NamedTuple):
    """A random operation on one example.

    Attributes:
      draw: `(key, spec) -> params`. Random; consumes the typed key once; sees shapes and dtypes
        (`spec` has the structure of the example, with `jax.ShapeDtypeStruct` leaves), never values.
      apply: `(params, example) -> example`. Takes no key: `params` alone fix the result.
      name: names the op in messages and keeps its random stream: `chain` folds it into the key.
      neutral: whether params that are zero throughout return the example bit for bit.
      holds: whether `apply` reads arrays that it closes over and that are too large to be constants of a program,
        such as a bank of noises; `batch` makes them arguments.
    """

    draw: Callable[[jax.Array, Example], Params]
    apply: Callable[[Params, Example], Example]
    name: str = "op"
    neutral: bool = False
    holds: bool = False


def stateless(function: Callable[[Example], Example]) -> Op:
    """Lifts a deterministic function of one example into an `Op` that draws nothing.

    Raises:
      ValueError: when built, if `function` cannot be called.
    """
    if not callable(function):
        raise ValueError(f"stateless takes a function of one example, got {function!r}")
    return Op(lambda key, spec: (), lambda params, example: function(example), name="stateless")


def chain(*ops: Op) -> Op:
    """Applies `ops` one after the other.

    Each op draws from its own stream, fixed by its name and by how many ops of that name came before it:
    inserting or removing another op leaves the draws of the rest as they were.

    Raises:
      ValueError: when built, if there is no op or a member is not an `Op`.
    """
    _check_ops("chain", ops)
    streams = _streams(ops)

    def draw(key, spec):
        drawn = []
        for op, stream in zip(ops, streams, strict=True):
            params = op.draw(_fold(key, stream), spec)
            spec = jax.eval_shape(op.apply, params, spec)
            drawn.append(params)
        return tuple(drawn)

    def apply(params, example):
        for op, own in zip(ops, params, strict=True):
            example = op.apply(own, example)
        return example

    return Op(draw, apply, name="chain", neutral=all(op.neutral for op in ops), holds=any(op.holds for op in ops))


def joined_draw(*ops: Op) -> Callable[[jax.Array, Example], tuple]:
    """The draw of `chain(*ops)` for ops whose params are tuples: one tuple with the entries of all."""
    draw = chain(*ops).draw
    return lambda key, spec: sum(draw(key, spec), ())


def maybe(op: Op, p: float = 0.5) -> Op:
    """Applies `op` to an example with probability `p`, else returns it unchanged.

    Where zero params are the identity (`op.neutral`) the params are gated, which costs one pass whatever `p` is and
    keeps the op fusable. Otherwise the selected members of a batch are gathered, transformed and scattered back,
    which costs about `p` of the full pass (see `jaxkit.gate`).

    Raises:
      ValueError: when built, if `p` is outside [0, 1]; when traced, if `op` changes shapes or dtypes.
    """
    _check_ops("maybe", (op,))
    p = probability("p", p)

    def draw_gated(key, spec):
        return _zero_unless(_hit(key, p), op.draw(_fold(key, op.name), spec))

    def draw(key, spec):
        params = op.draw(_fold(key, op.name), spec)
        _check_same(op, spec, jax.eval_shape(op.apply, params, spec))
        return _hit(key, p), params

    def apply(params, example):
        hit, own = params
        return gated(op.apply, p)(hit, own, example)

    if op.neutral:
        return op._replace(draw=draw_gated, name=f"maybe {op.name}")
    return op._replace(draw=draw, apply=apply, name=f"maybe {op.name}")


def one_of(*ops: Op, weights: Sequence[float] | None = None) -> Op:
    """Applies exactly one of `ops`, chosen per example with probabilities proportional to `weights` (default: equal).

    Raises:
      ValueError: when built, if there is no op, or the weights are not one non-negative number per op with a positive
        sum; when traced, if a member changes shapes or dtypes.
    """
    _check_ops("one_of", ops)
    shares = _shares(ops, weights)
    streams = _streams(ops)

    def draw(key, spec):
        drawn = []
        for op, stream in zip(ops, streams, strict=True):
            drawn.append(op.draw(_fold(key, stream), spec))
            _check_same(op, spec, jax.eval_shape(op.apply, drawn[-1], spec))
        choice = jax.random.choice(_fold(key, "choice"), len(ops), p=jnp.asarray(shares, jnp.float32))
        return choice, tuple(drawn)

    def apply(params, example):
        choice, drawn = params
        for index, (op, own) in enumerate(zip(ops, drawn, strict=True)):
            example = gated(op.apply, shares[index])(choice == index, own, example)
        return example

    return Op(draw, apply, name="one_of", holds=any(op.holds for op in ops))


def _check_ops(where: str, ops: tuple) -> None:
    if not ops:
        raise ValueError(f"{where} needs at least one op, got none")
    for index, op in enumerate(ops):
        if not isinstance(op, Op):
            raise ValueError(f"{where} takes ops; argument {index} is {op!r}. Call the factory: rotate(), not rotate")


def _check_same(op: Op, before: Example, after: Example) -> None:
    kept = jax.tree.structure(before) == jax.tree.structure(after) and all(
        (a.shape, a.dtype) == (b.shape, b.dtype)
        for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True)
    )
    if not kept:
        raise ValueError(f"{op.name!r} changes shapes or dtypes, so it cannot be chosen at random: {before} to {after}")


def _shares(ops: tuple, weights: Sequence[float] | None) -> tuple[float, ...]:
    weights = [1.0] * len(ops) if weights is None else list(weights)
    if len(weights) != len(ops) or min(weights) < 0 or not 0 < sum(weights) < float("inf"):
        raise ValueError(f"one_of needs one non-negative weight per op ({len(ops)}) with a positive sum, got {weights}")
    return tuple(weight / sum(weights) for weight in weights)


def _streams(ops: tuple) -> tuple[str, ...]:
    names = [op.name for op in ops]
    return tuple(f"{name} {names[:index].count(name)}" for index, name in enumerate(names))


def _fold(key: jax.Array, stream: str) -> jax.Array:
    return jax.random.fold_in(key, zlib.crc32(stream.encode()))


def _hit(key: jax.Array, p: float) -> jax.Array:
    return jax.random.bernoulli(_fold(key, "hit"), p)


def _zero_unless(hit: jax.Array, params: Params) -> Params:
    return jax.tree.map(lambda value: jnp.where(hit, value, jnp.zeros_like(value)), params)
