"""Recursive filters as products of matrices: a linear system in state-space form, and blocks of a wave through it.

A recursion from sample to sample is slow on every machine that computes many numbers at once. Here a block of samples
goes through at a time: what it yields by itself is a product with the block's impulse responses, and only the states
between blocks recur. Those are blocked in the same way, until one block is left, so that nothing is left to loop over.
The result is exact, not a truncated impulse response.
"""

import functools
import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = Any
BLOCK = 64
GROUP = 128


class StateSpace(NamedTuple):
    """A filter with states `s [n]`, input `u` and output `y`: `s' = s + change s + enter u`, `y = leave s + direct u`.

    The change of the states is what is kept, rather than the usual matrix `A = I + change`: for a low cut-off `A` is
    so close to the identity that float32 would round away the cut-off.

    Attributes:
      change: `[n, n]`.
      enter: `[n]`.
      leave: `[n]`.
      direct: scalar.
    """

    change: Array
    enter: Array
    leave: Array
    direct: Array


def series(first: StateSpace, second: StateSpace) -> StateSpace:
    """The system whose input goes through `first`, then `second`; NumPy in, NumPy out."""
    space = first.change.__array_namespace__()
    corner = space.zeros((first.enter.shape[0], second.enter.shape[0]), first.change.dtype)
    across = second.enter[:, None] * first.leave[None]
    upper = space.concatenate([first.change, corner], axis=1)
    lower = space.concatenate([across, second.change], axis=1)
    return StateSpace(
        change=space.concatenate([upper, lower]),
        enter=space.concatenate([first.enter, second.enter * first.direct]),
        leave=space.concatenate([first.leave * second.direct, second.leave]),
        direct=first.direct * second.direct,
    )


def through(system: StateSpace, wave: jax.Array) -> jax.Array:
    """The wave `[T]` float32 after the system, which starts at rest.

    The system is traced in float32, or NumPy in float64; then its responses are computed in float64 as well.
    """
    size, rows = wave.shape[0], -(-wave.shape[0] // BLOCK)
    if size == 0:
        return wave
    blocks = jnp.pad(wave, (0, rows * BLOCK - size)).reshape(rows, BLOCK)
    group = _group(system.enter.shape[0])
    depth = next(depth for depth in range(size) if group**depth >= rows)
    turns = _turns(system.change.T, _doublings(BLOCK) + depth * _doublings(group))
    gathered, free, local = _responses(system, turns[: _doublings(BLOCK)])
    out = _product(blocks, local)
    if depth:
        starts = _starts(_product(blocks, gathered), *_levels(turns[_doublings(BLOCK) :], depth))
        out += _product(starts, free)
    return out.reshape(-1)[:size]


def _group(states: int) -> int:
    """How many steps of the recursion between blocks are one product: a power of 2, for a matrix of at most `GROUP`."""
    return 1 << max((GROUP // states).bit_length() - 1, 1)


def _doublings(count: int) -> int:
    return count.bit_length() - 1


def _product(values: jax.Array, matrix: Array) -> jax.Array:
    return jnp.matmul(values, jnp.asarray(matrix, values.dtype), precision=jax.lax.Precision.HIGHEST)


def _times(left: Array, right: Array) -> Array:
    return _product(left, right) if isinstance(left, jax.Array) else left @ right


def _turns(turn: Array, count: int) -> Array:
    """`[count, n, n]`: the changes over 1, 2, 4, ... steps, which are not rounded to the identity on the way."""

    def double(turn: Array, none: Any) -> tuple[Array, Array]:
        return 2 * turn + _times(turn, turn), turn

    if isinstance(turn, jax.Array):
        return jax.lax.scan(double, turn, None, length=count)[1]
    return np.stack(list(itertools.accumulate(range(count - 1), lambda turn, _: double(turn, _)[0], initial=turn)))


def _after_each(values: Array, turns: Array, count: int) -> Array:
    """`[count, ..., n]`: what 0, 1, ... steps make of rows of states `[..., n]`; `turns` are of 1, 2, 4, ... steps."""
    space, ones = values.__array_namespace__(), [1] * values.ndim
    values = space.tile(values[None], (count, *ones))
    bits = (np.arange(count)[None] >> np.arange(turns.shape[0])[:, None]) & 1
    masks = space.asarray(bits.reshape(*bits.shape, *ones), dtype=values.dtype)

    def advance(values: Array, step: tuple[Array, Array]) -> tuple[Array, None]:
        turn, mask = step
        return values + mask * _times(values, turn), None

    if isinstance(values, jax.Array):
        return jax.lax.scan(advance, values, (turns, masks))[0]
    return functools.reduce(lambda values, step: advance(values, step)[0], zip(turns, masks, strict=True), values)


def _responses(system: StateSpace, turns: Array) -> tuple[Array, Array, Array]:
    """How a block acts, for rows of numbers: samples on states, states on samples, samples on samples.

    Shapes: `[BLOCK, n]`, `[n, BLOCK]`, `[BLOCK, BLOCK]`.
    """
    space = system.change.__array_namespace__()
    entered = _after_each(system.enter, turns, BLOCK)
    leaving = _after_each(system.leave, space.swapaxes(turns, 1, 2), BLOCK)
    impulse = space.concatenate([space.reshape(system.direct, (1,)), _times(leaving, system.enter)[:-1]])
    return entered[::-1], leaving.T, _toeplitz(impulse)


def _toeplitz(values: Array) -> Array:
    """`[m, m, ...]` from `[m, ...]`: row `i` is `i` zeros, then the values."""
    space, rows = values.__array_namespace__(), values.shape[0]
    padded = space.concatenate([values, space.zeros_like(values)])
    # Read with a period that is one shorter than its own, every row comes one later than the row before.
    many = space.tile(padded, (rows, *[1] * (values.ndim - 1)))[: rows * (2 * rows - 1)]
    return space.reshape(many, (rows, 2 * rows - 1, *values.shape[1:]))[:, :rows]


def _levels(turns: Array, depth: int) -> tuple[Array, Array]:
    """For every level of blocks of blocks: additions on states, and first states on states, within a group of steps.

    Shapes: `[depth, m n, m n]` and `[depth, n, m n]`. `turns [depth * log2(m), n, n]` are the changes over 1, 2, 4, ...
    steps of the first level.
    """
    space, size, doublings = turns.__array_namespace__(), turns.shape[-1], turns.shape[0] // depth
    turns = space.swapaxes(space.reshape(turns, (depth, doublings, size, size)), 0, 1)
    identity = space.tile(space.eye(size, dtype=turns.dtype)[None], (depth, 1, 1))
    powers = _after_each(identity, turns, 1 << doublings)
    return _flat(_toeplitz(powers)), _flat(powers[None])


def _flat(matrices: Array) -> Array:
    """`[depth, rows * n, columns * n]` from `[rows, columns, depth, n, n]`."""
    rows, columns, depth, size, _ = matrices.shape
    space = matrices.__array_namespace__()
    return space.reshape(space.permute_dims(matrices, (2, 0, 3, 1, 4)), (depth, rows * size, columns * size))


def _starts(added: jax.Array, within: Array, onward: Array) -> jax.Array:
    """The states before each of the steps `s' = s A + added`, from rest: `[steps, n]` from `[steps, n]`."""
    (steps, states), width = added.shape, within.shape[-1]
    groups = -(-steps * states // width)
    rows = jnp.pad(added.reshape(-1), (0, groups * width - steps * states)).reshape(groups, width)
    after = _product(rows, within[0])
    before = jnp.pad(after[:, :-states], ((0, 0), (states, 0)))
    if groups > 1:
        before += _product(_starts(after[:, -states:], within[1:], onward[1:]), onward[0])
    return before.reshape(-1, states)[:steps]
