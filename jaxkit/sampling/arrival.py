"""Points of bodies as arrivals in time, so that a denser sample holds every sparser one.

Imagine that points fall into body k at the rate of its volume V_k: those that have arrived before time t are a Poisson
process of density t in the body. Gaps between arrivals are exponential, so the n-th point of a body depends on the
words of n gaps only, and neither on t nor on other bodies. Raising t adds points and moves none. And in the order of
their arrival the points of a whole cloud are exchangeable, so the first of them are a fair sample.

The gaps of a body start afresh at every multiple of eight expected arrivals, which changes nothing about a process
without memory. Such a stretch is a slot; slots are independent rows of work, so that a body of ten million points is
as quick as ten million bodies of one.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.sampling.anchor import Array
from jaxkit.sampling.batches import by_batches
from jaxkit.sampling.counter import exponential, threefry, uniform_fine

SLOT = 8.0
LANES = 64
MOST_SLOTS = 2**26


class Arrivals(NamedTuple):
    """Points of a block of bodies, without their places.

    Attributes:
      row: int32 `[T]`, index of the body in the block.
      lane: uint32 `[T]`, number within the body: `LANES` times the slot, plus the number within the slot.
      time: float32 `[T]`.
    """

    row: np.ndarray
    lane: np.ndarray
    time: np.ndarray


def arrivals(
    seed: Array, body: np.ndarray, rate: np.ndarray, low: np.float32, high: np.float32, *, even: bool = False
) -> Arrivals:
    """Arrivals at `low < time <= high`, grouped by their number within the slot.

    Args:
      seed: `[2]` uint32, a stream of its own.
      body: `[N]` uint32, row numbers in the cloud: the counters.
      rate: `[N]` float32, arrivals per unit of time; 0 for none.
      low, high: times, float32.
      even: gaps of exactly one expected arrival after a uniform first: counts as even as they can be, not independent.

    Raises:
      ValueError: if a body would receive more than 2**29 points.
    """
    row, slot = _slots(rate, high)
    lane, local = slot * np.uint32(LANES), np.zeros(len(row), np.float32)
    found = []
    while len(row):
        program = functools.partial(_advance, seed, even=even)
        local, time = by_batches(program, body[row], lane, local, rate[row])
        alive = np.flatnonzero((local <= SLOT) & (time <= high))
        row, lane, local, time = row[alive], lane[alive], local[alive], time[alive]
        found.append(_after(low, Arrivals(row, lane, time)))
        lane = lane + np.uint32(1)
    empty = Arrivals(np.zeros(0, np.int32), np.zeros(0, np.uint32), np.zeros(0, np.float32))
    return Arrivals(*(np.concatenate(parts) for parts in zip(empty, *found, strict=True)))


def _after(low: np.float32, fallen: Arrivals) -> Arrivals:
    return Arrivals(*(part[fallen.time > low] for part in fallen)) if low > 0 else fallen


def _slots(rate: np.ndarray, high: np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Rows and numbers of the slots that begin before `high`."""
    slots = np.floor(rate.astype(np.float64) * (float(high) / SLOT * (1 + 1e-6))) + (rate > 0)
    if slots.size and slots.max() >= MOST_SLOTS:
        raise ValueError(f"a body would receive {slots.max() * SLOT:.2g} points, more than 2**29: ask for fewer")
    slots = slots.astype(np.int64)
    row = np.repeat(np.arange(len(rate), dtype=np.int32), slots)
    first = np.cumsum(slots) - slots
    return row, (np.arange(len(row)) - np.repeat(first, slots)).astype(np.uint32)


@functools.partial(jax.jit, static_argnames="even")
def _advance(seed: Array, body: Array, lane: Array, local: Array, rate: Array, even: bool) -> tuple[Array, Array]:
    """The next arrival of each slot: expected arrivals since the slot began, and the time."""
    slot, number = lane // LANES, lane % LANES
    if even:
        gap = jnp.where(number == 0, uniform_fine(*threefry(seed, body, jnp.zeros_like(lane))), 1.0)
    else:
        gap = exponential(*threefry(seed, body, lane))
    local = local + gap
    return local, (slot.astype(jnp.float32) * SLOT + local) / rate
