"""One row of the benchmark: an op on a batch, compared with its peers, then timed beside them."""

import functools
import itertools
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks import peers_albumentations, peers_opencv, processes
from benchmarks.image_ops import SUBJECTS, Subject
from benchmarks.pictures import SIZES, Size, pictures
from benchmarks.timing import Ratio, Side, Spread, interleave, ratio, spread
from jaxkit import Sample, batch

JAXKIT, OPENCV, ALBUMENTATIONS = "jaxkit", "OpenCV", "AlbumentationsX"
PROCESSES = f", {processes.COUNT} processes"
LOOP_ONLY = ", loop only"
PLAIN = "line_chain, warp by warp"
CHAIN_GOALS = {OPENCV + PROCESSES: 1.5, ALBUMENTATIONS + PROCESSES: 4.0}
KEYS = 16


class Goal(NamedTuple):
    """How many times faster than a peer jaxkit is to be, and whether it is."""

    peer: str
    least: float
    reached: bool


class Row(NamedTuple):
    """What was found for one op on one batch. Times are milliseconds a batch; ratios say how much faster jaxkit is.

    Attributes:
      largest_difference: in levels of 255, between OpenCV's batch and jaxkit's for the same draws; None where the two
        compute different things on purpose. More than one: OpenCV was not timed.
      compile_seconds: the first call less a later one.
    """

    op: str
    size: str
    times: dict[str, Spread]
    ratios: dict[str, Ratio]
    goals: tuple[Goal, ...]
    largest_difference: float | None
    compile_seconds: float


class Prepared(NamedTuple):
    """jaxkit's call, and what its peers need to do the same work."""

    run: Any
    images: np.ndarray
    params: Sequence
    result: np.ndarray
    compile_seconds: float


def measure(name: str, size_name: str, *, rounds: int, team: Sequence[processes.Worker]) -> Row:
    """Times an op on a batch; without OpenCV if its result for the same draws is more than one level away."""
    subject, size = SUBJECTS[name], SIZES[size_name]
    ready = prepare(subject, size)
    opencv = peers_opencv.loop(name, ready.params, ready.images, ready.result.shape)
    difference = None if name in peers_opencv.UNLIKE else levels_apart(opencv(), ready.result)
    sides = [Side(JAXKIT, ready.run)]
    if difference is None or difference <= 1:
        sides.append(Side(OPENCV, opencv))
    if name in peers_albumentations.PEERS:
        sides.append(Side(ALBUMENTATIONS, peers_albumentations.loop(name, ready.images, ready.result.shape), threads=1))
    loops: dict[str, list[float]] = {}
    if subject.chained:
        sides += process_sides(name, ready, team, loops)
    times = interleave(sides, rounds=rounds)
    # The first, untimed run is not a round.
    times |= {peer: 1e3 * np.array(seconds[1:]) / processes.COUNT for peer, seconds in loops.items()}
    spreads = {peer: spread(values) for peer, values in times.items()}
    ratios = {peer: ratio(values, times[JAXKIT]) for peer, values in times.items() if peer != JAXKIT}
    return Row(name, size_name, spreads, ratios, goals(name, subject, size, ratios), difference, ready.compile_seconds)


def prepare(subject: Subject, size: Size) -> Prepared:
    """Compiles the op, and draws and applies once for the comparison."""
    call, images = batch(subject.make(size.height, size.width)), pictures(size)
    ids, sample = np.arange(size.count), Sample(image=images)
    keys = itertools.cycle(list(jax.random.split(jax.random.key(0), KEYS)))
    run = lambda: jax.block_until_ready(call(next(keys), ids, sample))  # noqa: E731
    first, later = seconds(run), seconds(run)
    params = jax.tree.map(np.asarray, call.draw(next(keys), ids, sample))
    result = np.asarray(call.apply(params, sample).image)
    own = [jax.tree.map(lambda leaf: leaf[index], params) for index in range(size.count)]  # noqa: B023
    return Prepared(run, images, own, result, first - later)


def seconds(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def levels_apart(theirs: np.ndarray, ours: np.ndarray) -> float:
    """The largest difference in levels of 255."""
    scale = 1 if ours.dtype == np.uint8 else 255
    return scale * float(np.abs(theirs.astype(np.float32) - ours.astype(np.float32)).max())


def process_sides(name: str, ready: Prepared, team: Sequence[processes.Worker], loops: dict) -> list[Side]:
    """The peers in worker processes; the seconds of their loops alone go to `loops`."""
    shape = ready.result.shape
    works = {
        OPENCV: processes.Work(name, ready.images, shape, ready.params),
        ALBUMENTATIONS: processes.Work(name, ready.images, shape),
    }
    if f"{name}, warp by warp" == PLAIN:
        works[f"{OPENCV} warp by warp"] = processes.Work(PLAIN, ready.images, shape, ready.params)
    sides = []
    for peer, work in works.items():
        processes.prepare(team, peer, work)
        found = loops.setdefault(peer + PROCESSES + LOOP_ONLY, [])
        run = functools.partial(run_and_note, team, peer, found)
        sides.append(Side(peer + PROCESSES, run, batches=len(team)))
    return sides


def run_and_note(team: Sequence[processes.Worker], peer: str, found: list[float]) -> None:
    found.append(processes.run(team, peer))


def goals(name: str, subject: Subject, size: Size, ratios: dict[str, Ratio]) -> tuple[Goal, ...]:
    wanted = {} if subject.goal is None else {OPENCV: subject.goal}
    if name == "line_chain":
        wanted = CHAIN_GOALS
    if size.dtype != "uint8":
        wanted = {}
    found = {peer: ratios[peer].value if peer in ratios else 0.0 for peer in wanted}
    return tuple(Goal(peer, least, found[peer] >= least) for peer, least in wanted.items())
