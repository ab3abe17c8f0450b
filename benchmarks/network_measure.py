"""Times of the same network in all runtimes, and of depthwise layers alone, in processes that take turns."""

import functools
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.network_case import BATCHES, SESSIONS, Case, opened, write_floats, write_integers
from benchmarks.network_depthwise import LAYERS, Layer
from benchmarks.network_jax import FAST, FOLDED, STOCK
from benchmarks.network_methods import METHODS, SLOW, Method, Quality, quality, quantize_all
from benchmarks.network_process import HERE, PeerError, Worker, turns
from benchmarks.timing import Ratio, Spread, ratio, spread

Place = tuple[str, str, dict[str, Any]]
IN_JAX = {"stock Flax": STOCK, "jaxkit.nn": FAST, "jaxkit.nn, folded": FOLDED}
STOCK_TITLE, FAST_TITLE, FLOAT_TITLE = "stock Flax", "jaxkit.nn, folded", "ONNX Runtime float"
LAYER_SIDES = {
    "lax": "benchmarks.network_depthwise",
    "jaxkit": "benchmarks.network_depthwise",
    "torch": "benchmarks.peers_torch_depthwise",
    "torch, channels last": "benchmarks.peers_torch_depthwise",
}
THREADS = (1, 2)
SAME = 1e-4


class Plan(NamedTuple):
    """How long everything may take.

    Attributes:
      rounds: of one example, of a batch, of a layer, of the methods.
      seconds: that a side takes in its turn, at least.
      batches: to time.
      every: how many pictures there are for one that is used.
      slow: whether the methods that calibrate for long are taken along.
    """

    rounds: tuple[int, int, int, int] = (11, 5, 7, 5)
    seconds: float = 0.1
    batches: tuple[int, ...] = BATCHES
    every: int = 1
    slow: bool = True


QUICK = Plan((2, 1, 2, 2), 0.02, (1,), 7, False)


class Row(NamedTuple):
    """The sides of one case. Ratios say how many times faster a side is than the base.

    Attributes:
      case: what was computed, in words.
      base: the side that ratios are about.
      times: milliseconds a call.
      missing: side to why it has no times.
      apart: the largest difference of a side's result from the base's, as a share of the largest value; layers only.
    """

    case: str
    threads: int
    batch: int
    base: str
    times: dict[str, Spread]
    ratios: dict[str, Ratio]
    missing: dict[str, str]
    apart: float = 0.0


def network_sides(case: Case, batch: int) -> dict[str, Callable[[], Place]]:
    """Title to a function that says where the side runs, or raises `PeerError`."""
    weights = {"weights": str(case.weights)}
    module = "benchmarks.network_jax"
    found = {name: lambda kind=kind: (HERE, module, {"kind": kind, **weights}) for name, kind in IN_JAX.items()}
    for kind in ("float", "int8"):
        for runtime in SESSIONS:
            found[f"{runtime} {kind}"] = lambda runtime=runtime, kind=kind: opened(case, runtime, kind, batch)
    return found


def network_rows(case: Case, plan: Plan, worker: Callable[..., Worker]) -> Iterator[Row]:
    """Latency of the network with one thread and two, for one picture and a batch."""
    for threads in THREADS:
        for batch in plan.batches:
            sides = network_sides(case, batch)
            rounds = plan.rounds[0] if batch == 1 else plan.rounds[1]
            shape = [batch, *case.graph.shape]
            yield timed("EfficientNet-Lite0", sides, (threads, shape, rounds, plan.seconds), STOCK_TITLE, worker)


def layer_rows(folder: Path, plan: Plan, worker: Callable[..., Worker]) -> Iterator[Row]:
    """Depthwise layers with one thread and two."""
    np.save(folder / "none.npy", np.zeros((1, 1), np.float32))
    for layer in LAYERS:
        sides = {name: functools.partial(layer_place, layer, name) for name in LAYER_SIDES}
        for threads in THREADS:
            row = timed(layer.title, sides, (threads, [1], plan.rounds[2], plan.seconds / 5), "lax", worker)
            yield row._replace(apart=apart(folder, row, worker))


def layer_place(layer: Layer, side: str) -> Place:
    return HERE, LAYER_SIDES[side], {"layer": list(layer), "kind": side}


def apart(folder: Path, row: Row, worker: Callable[..., Worker]) -> float:
    """How far the sides of a layer are from the base."""
    found = {}
    for side in row.times:
        process, output = worker(HERE, LAYER_SIDES[side], row.threads), folder / "outputs.npy"
        process.ask("run", name=key(row.case, side, 1), inputs=str(folder / "none.npy"), outputs=str(output))
        found[side] = np.load(output)
    wanted = found[row.base]
    return max(float(np.abs(own - wanted).max() / np.abs(wanted).max()) for own in found.values())


def key(case: str, side: str, batch: int) -> str:
    """The name of a session in its process."""
    return f"{case}, {side}, batch {batch}"


def timed(
    title: str,
    sides: Mapping[str, Callable[[], Place]],
    how: tuple[int, list[int], int, float],
    base: str,
    worker: Callable[..., Worker],
) -> Row:
    """Opens what can be opened, and times it in turns."""
    threads, shape, rounds, seconds = how
    calls, missing = {}, {}
    for name, place in sides.items():
        session = key(title, name, shape[0])
        try:
            process = opened_in(place(), session, threads, worker)
            calls[name] = functools.partial(process.ask, "milliseconds", name=session, shape=shape, seconds=seconds)
        except PeerError as error:
            missing[name] = str(error)
    times = {name: np.array(values) for name, values in turns(calls, rounds).items()}
    ratios = {name: ratio(times[base], values) for name, values in times.items() if name != base and base in times}
    return Row(title, threads, shape[0], base, {name: spread(v) for name, v in times.items()}, ratios, missing)


def opened_in(place: Place, name: str, threads: int, worker: Callable[..., Worker]) -> Worker:
    """The process in which a session of this name is now open."""
    environment, module, given = place
    process = worker(environment, module, threads)
    process.ask("open", name=name, module=module, given=given | {"threads": threads})
    return process


def qualities(case: Case, plan: Plan, worker: Callable[..., Worker], failed: Mapping[str, str]) -> list[Quality]:
    """What each method is worth, all timed in the same rounds."""
    found, calls = {}, {}
    for method in chosen(plan):
        reason = failed.get(method.title)
        value, call = (Quality(*method[:3], error=reason), None) if reason else quality(case, method, worker)
        found[method.title] = value
        calls |= {method.title: call} if call else {}
    for title, values in turns(calls, plan.rounds[3]).items():
        found[title] = found[title]._replace(ms=spread(np.array(values)))
    return list(found.values())


def chosen(plan: Plan) -> list[Method]:
    return [method for method in METHODS if plan.slow or method.how not in SLOW]


def prepare(case: Case, plan: Plan, worker: Callable[..., Worker]) -> dict[str, str]:
    """Lets jaxkit and its peers write their files, side by side. Returns title to reason for methods that failed."""
    write_floats(case)
    with ThreadPoolExecutor(1) as pool:
        peers = pool.submit(quantize_all, case, chosen(plan), worker)
        write_integers(case)
        return peers.result()
