"""What the report tells beside speed: how true and how large each step is, and what is lost on digits."""

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from jaxkit.port import Request, Table

from . import digits, fast, pictures, slow
from .agreements import agreement, by_parts
from .digit_data import load

BATCHES = (1, 16)
THREADS = (1, 2)
STEPS = {
    "Flax, jaxkit's convolutions": fast.classify_in_jax,
    "ONNX Runtime, float": fast.classify_in_float,
    "ONNX Runtime, int8": fast.classify,
}


def tables(request: Request) -> list[Table]:
    return [pictures.table(request), truth(request), times(request), coverage(), on_digits(request)]


def truth(request: Request) -> Table:
    """Of every step: what it makes of the test pictures, against the stock network, and the bytes of its file."""
    tested = pictures.normalised(pictures.tests(request))
    wanted = by_parts(slow.classify, tested)
    sizes = {"ONNX Runtime, float": fast.float_file().size, "ONNX Runtime, int8": fast.int8_file().size}
    rows = []
    for name, side in STEPS.items():
        same, ratio = agreement(by_parts(side, tested), wanted)
        size = f"{sizes[name] / 1e6:.2f}" if name in sizes else ""
        rows.append((name, f"{same:.1%}", f"{ratio:.1f}", size))
    note = (
        f"{len(tested)} pictures; the float file is {sizes['ONNX Runtime, float'] / sizes['ONNX Runtime, int8']:.2f} "
    )
    note += "times as large as the one with integers"
    return Table("Truth and size", ("step", "same class", "signal to noise, dB", "MB"), tuple(rows), note)


def times(request: Request) -> Table:
    """Milliseconds of a call, all steps in turn."""
    rounds = 3 if request.quick else 9
    rows = []
    for batch in BATCHES[: 1 if request.quick else None]:
        given = pictures.some(batch, request)
        sides = {("Flax", ""): slow.classify, ("Flax, jaxkit's convolutions", ""): fast.classify_in_jax}
        for threads in THREADS:
            sides |= {(f"ONNX Runtime, {kind}", threads): fast.opened(kind, threads) for kind in ("float", "int8")}
        taken = medians({name: partial(side, given) for name, side in sides.items()}, rounds)
        base = taken["Flax", ""]
        rows += [(name, n or "all", batch, f"{1e3 * t:.1f}", f"{base / t:.1f}") for (name, n), t in taken.items()]
    columns = ("step", "threads", "pictures", "ms", "times Flax")
    return Table("Latency", columns, tuple(rows), f"median of {rounds} rounds, the steps in turn; {fast.CORES} cores")


def medians(sides: dict[tuple, Callable[[], object]], rounds: int) -> dict[tuple, float]:
    """Seconds of each side, round by round, after one to warm up."""
    taken: dict[tuple, list[float]] = {name: [] for name in sides}
    for _ in range(rounds + 1):
        for name, run in sides.items():
            start = time.perf_counter()
            np.asarray(run())
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(found[1:]) for name, found in taken.items()}


def coverage() -> Table:
    """What ONNX Runtime runs on integers."""
    counts = fast.int8_file().coverage()
    rows = tuple((name, found["integer"], found["float"]) for name, found in sorted(counts.items()))
    return Table("What runs on integers", ("operation", "integers", "float"), rows)


def on_digits(request: Request) -> Table:
    """A network that was trained here: what integers lose, without and with training for them."""
    columns = ("network", "right", "points lost", "logits as simulated", "kB")
    try:
        source = load().source
    except ImportError as error:
        return Table("Digits", columns, ((str(error), "", "", "", ""),))
    found = digits.outcome(fast.below(), quick=request.quick)
    rows = [
        (
            name,
            f"{right} of {found.count}",
            f"{found.lost(name):.1f}",
            f"{found.same[name]:.1%}" if name in found.same else "",
            f"{found.bytes[name] / 1e3:.0f}",
        )
        for name, right in found.right.items()
    ]
    return Table(f"Digits: {source}", columns, tuple(rows), "trained from nothing; all three in ONNX Runtime")
