"""Timing two programs and their alternatives in one process, round by round.

Rounds are interleaved and each begins with another side, so that a machine that slows down slows all sides. A time is
the wall clock of a call until its result is ready, inputs still on the host.
"""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxkit.port.declare import Port, Request
from jaxkit.port.leaves import array_like, own_copy
from jaxkit.port.machine import machine_share
from jaxkit.port.program import Footprint
from jaxkit.port.result import Measurement, Speedup, Timing
from jaxkit.port.sides import guarded, make_cases

ON_DEVICE = "rewrite, inputs on the device"
REWRITES = ("rewrite", ON_DEVICE)
LEAST_ROUNDS = 3
SHORTEST = 0.002


class Budget(NamedTuple):
    """Rounds at most; seconds that a side gets per size; seconds that its three least rounds may take."""

    rounds: int
    seconds: float
    patience: float


FULL = Budget(rounds=15, seconds=10.0, patience=60.0)
QUICK = Budget(rounds=5, seconds=1.0, patience=15.0)


def seconds(run: Callable[[], Any], *, calls: int = 1) -> float:
    """Seconds per call until the result is ready."""
    start = time.perf_counter()
    for _ in range(calls):
        jax.block_until_ready(run())
    return (time.perf_counter() - start) / calls


def time_sides(sides: Mapping[str, Callable[[], Any]], budget: Budget) -> dict[str, Timing]:
    """Warm all sides up, then time them in interleaved rounds.

    A side gets at least three rounds, fewer rounds than others if it is slow. One that takes more than a third of the
    budget's patience for a call is not called again: its call of the warm-up is its only round. Calls shorter than 2 ms
    are repeated within a round.
    """
    guesses = {name: _guess(name, run, budget) for name, run in sides.items()}
    once = {name: guess for name, guess in guesses.items() if _hopeless(guess, budget) and name not in REWRITES}
    rounds = {name: _rounds(guess, budget) for name, guess in guesses.items() if name not in once}
    calls = {name: max(1, math.ceil(SHORTEST / max(guess, 1e-9))) for name, guess in guesses.items()}
    samples = {name: [once[name]] if name in once else [] for name in sides}
    most, names = max(rounds.values(), default=0), list(rounds)
    for turn in range(most):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            if turn * rounds[name] % most < rounds[name]:
                samples[name].append(_guarded(name, sides[name], calls[name]))
    return {name: _timing(values) for name, values in samples.items()}


def _guarded(name: str, run: Callable[[], Any], calls: int = 1) -> float:
    with guarded(f"the {name} in the measurement"), jax.debug_key_reuse(False):
        return seconds(run, calls=calls)


def _guess(name: str, run: Callable[[], Any], budget: Budget) -> float:
    """Seconds of a call. A first call may compile or import, so only a hopeless reference is not called twice."""
    first = _guarded(name, run)
    return first if name == "reference" and _hopeless(first, budget) else min(first, _guarded(name, run))


def _hopeless(guess: float, budget: Budget) -> bool:
    return guess * LEAST_ROUNDS > budget.patience


def _rounds(guess: float, budget: Budget) -> int:
    return int(min(budget.rounds, max(LEAST_ROUNDS, budget.seconds / max(guess, 1e-9))))


def _timing(values: list[float]) -> Timing:
    low, median, high = (float(value) for value in np.quantile(values, [0.25, 0.5, 0.75]))
    return Timing(median, low, high, min(values), len(values))


def speedup(other: Timing, rewrite: Timing, *, scale: float = 1.0, extrapolated: bool = False) -> Speedup:
    """How many times faster the rewrite is, the other side's time multiplied by `scale`."""
    return Speedup(
        scale * other.median_s / rewrite.median_s,
        scale * other.low_s / rewrite.high_s,
        scale * other.high_s / rewrite.low_s,
        extrapolated,
    )


def speedups(sides: Mapping[str, Mapping[int, Timing]]) -> dict[str, dict[int, Speedup]]:
    """Gain of the rewrite over each other side at each size.

    Where the reference was not timed, its time per item at its largest size is used and the gain is `extrapolated`.
    """
    found: dict[str, dict[int, Speedup]] = {}
    for name, row in sides.items():
        if name in REWRITES or not row:
            continue
        largest = max(row)
        found[name] = {}
        for size, rewrite in sides["rewrite"].items():
            if size in row:
                found[name][size] = speedup(row[size], rewrite)
            else:
                found[name][size] = speedup(row[largest], rewrite, scale=size / largest, extrapolated=True)
    return found


def growth(row: Mapping[int, Timing]) -> float | None:
    """Exponent of time over size by least squares on the logarithms; None for a single size."""
    if len(row) < 2:
        return None
    x, y = np.log(list(row)), np.log([timing.median_s for timing in row.values()])
    return float(np.polyfit(x, y, 1)[0])


def break_even(compile_s: float, gain: Speedup, rewrite: Timing) -> float | None:
    """Calls after which the compilation is paid for; None where a call gains nothing."""
    saved = (gain.median - 1) * rewrite.median_s
    return compile_s / saved if saved > 0 else None


def measure(
    port: Port,
    request: Request,
    found: Footprint | str,
    *,
    on_device: bool = False,
    listen: Callable[[str, int, int], None] | None = None,
) -> Measurement:
    """Time all sides of a port at all sizes.

    Args:
      port, request: what is measured; `request.quick` takes fewer rounds.
      found: the plan of the rewrite at its largest size, see `program.footprint`.
      on_device: also time the rewrite on inputs that are on the device already (transfer excluded).
      listen: told the size that begins.

    Raises:
      SideError: if a side crashes.
    """
    sizes, budget = _sizes(port, request), QUICK if request.quick else FULL
    works = {size: _work(port, request, size) for size in sizes}
    jax.clear_caches()
    first = _guarded("rewrite", _runner(port.rewrite, works[sizes[-1]]))
    sides: dict[str, dict[int, Timing]] = {name: {} for name in _sides(port, None, on_device)}
    for done, size in enumerate(sizes):
        if listen:
            listen(f"measuring size {size}", done, len(sizes))
        runs = {name: _runner(side, works[size], name) for name, side in _sides(port, size, on_device).items()}
        for name, timing in time_sides(runs, budget).items():
            sides[name][size] = timing
    return _summary(port, sizes, sides, first, found)


def _sizes(port: Port, request: Request) -> list[int]:
    if port.inputs is None:
        return [len(make_cases(port.cases, request))]
    return sorted({*port.sizes, *(port.reference_sizes or ())})


def _work(port: Port, request: Request, size: int) -> list[tuple]:
    """The calls that one timing makes: one with the inputs of a size, or one for each case."""
    if port.inputs is None:
        return [case.inputs for case in make_cases(port.cases, request)]
    with guarded(f"making the inputs of size {size}"):
        return [tuple(port.inputs(size, request))]


def _sides(port: Port, size: int | None, on_device: bool) -> dict[str, Callable[..., Any]]:
    """The sides that take part at a size; None stands for all."""
    takes_part = size is None or port.reference_sizes is None or size in port.reference_sizes
    sides = {"reference": port.reference} if takes_part else {}
    sides |= {"rewrite": port.rewrite, **port.alternatives}
    return sides | ({ON_DEVICE: port.rewrite} if on_device else {})


def _runner(side: Callable[..., Any], work: list[tuple], name: str = "") -> Callable[[], Any]:
    inputs = own_copy(work)
    if name == ON_DEVICE:
        inputs = jax.tree.map(lambda leaf: jax.device_put(leaf) if array_like(leaf) else leaf, inputs)
    return lambda: [jax.block_until_ready(side(*arguments)) for arguments in inputs]


def _summary(port: Port, sizes: list[int], sides: dict, first: float, found: Footprint | str) -> Measurement:
    gains, rewrite = speedups(sides), sides["rewrite"][sizes[-1]]
    compile_s = max(0.0, first - rewrite.median_s)
    exponents = {name: growth(row) for name, row in sides.items()}
    return Measurement(
        sizes=tuple(sizes),
        sides=sides,
        speedup=gains,
        compile_s=compile_s,
        break_even_calls=break_even(compile_s, gains["reference"][sizes[-1]], rewrite),
        growth={name: exponent for name, exponent in exponents.items() if exponent is not None},
        machine=machine_share(found, rewrite.median_s),
        temporary_mb=None if isinstance(found, str) else found.temporary_mb,
        note=_note(port, sides, gains),
    )


def _note(port: Port, sides: dict, gains: dict) -> str:
    said = ["times include moving the inputs to the device and end when the result is ready there"]
    if port.inputs is None:
        said.append("one call stands for all cases")
    if any(gain.extrapolated for row in gains.values() for gain in row.values()):
        said.append(
            f"the reference was timed at sizes up to {max(sides['reference'])}; its time per item is carried over to "
            "other sizes, and those gains are extrapolated"
        )
    if jax.config.jax_compilation_cache_dir:
        said.append("a persistent compilation cache is on, so the time to compile may be that of reading it")
    few = sorted({name for name, row in sides.items() for timing in row.values() if timing.rounds < LEAST_ROUNDS})
    if few:
        said.append(f"too slow for three rounds: {', '.join(few)}")
    return "; ".join(said)
