"""One row of the audio benchmark: an op on a batch, timed beside its peers in interleaved rounds."""

import functools
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks import peers_audio_clips, peers_audiomentations, peers_torch_audiomentations, peers_torch_ops
from benchmarks.audio_clips import SIZES, clips
from benchmarks.audio_ops import AUDIOMENTATIONS, SUBJECTS, TORCH_AUDIOMENTATIONS, Subject, examples
from benchmarks.timing import Ratio, Side, Spread, interleave, ratio, spread
from jaxkit import Op, batch, stateless

JAXKIT = "jaxkit"
KEYS = 16
PART_SECONDS, BATCH_SECONDS = 0.4, 2.0


class Goal(NamedTuple):
    """How many times faster than a peer jaxkit is to be, and how much it is."""

    peer: str
    least: float
    value: float

    @property
    def reached(self) -> bool:
        return self.value >= self.least


class Row(NamedTuple):
    """What was found for one op on one batch. Times are milliseconds a batch; ratios say how much faster jaxkit is.

    Attributes:
      hours_per_second: of sound, that jaxkit takes.
      parts: peer to the share of the batch that it was timed on; left out where it is all.
      error: why there are no times.
    """

    op: str
    size: str
    times: dict[str, Spread] = {}
    ratios: dict[str, Ratio] = {}
    goals: tuple[Goal, ...] = ()
    parts: dict[str, float] = {}
    compile_seconds: float = 0.0
    hours_per_second: float = 0.0
    rounds: int = 0
    error: str = ""


class Plan(NamedTuple):
    """How long a row may take: from `rounds` to `most_rounds`, as many as `seconds` allow."""

    rounds: int
    most_rounds: int
    seconds: float
    peers: bool = True


class Bench(NamedTuple):
    """What all rows share: a folder with banks of sounds, and worker processes."""

    folder: Path
    team: Any


def measure(name: str, size: str, *, plan: Plan, bench: Bench) -> Row:
    """Times an op; a row with the reason if it fails, so that the rest is measured all the same."""
    try:
        return measured(name, size, plan, bench)
    except Exception as error:
        return Row(name, size, error=(f"{type(error).__name__}: {error}".splitlines() or [""])[0])


def measured(name: str, size_name: str, plan: Plan, bench: Bench) -> Row:
    subject, size = SUBJECTS[name], SIZES[size_name]
    waves = clips(size, rate=subject.rate)
    run, compile_seconds = prepared(subject, waves)
    sides, parts = [Side(JAXKIT, run)], {}
    for peer, make in peers(name, subject, size_name, waves, bench).items() if plan.peers else ():
        call, share = make(size.count)
        sides.append(Side(peer, call, batches=share))
        parts |= {} if share == 1 else {peer: share}
    times = interleave(sides, rounds=rounds(sides, plan))
    ratios = {peer: ratio(values, times[JAXKIT]) for peer, values in times.items() if peer != JAXKIT}
    spreads = {peer: spread(values) for peer, values in times.items()}
    pace = size.count * size.seconds / 3600 / (spreads[JAXKIT].median / 1e3)
    goals = tuple(Goal(peer, least, ratios[peer].value) for peer, least in subject.goals.items() if peer in ratios)
    return Row(name, size_name, spreads, ratios, goals, parts, compile_seconds, pace, len(times[JAXKIT]))


def prepared(subject: Subject, waves: np.ndarray) -> tuple[Callable[[], Any], float]:
    """jaxkit's call, from a batch in NumPy arrays until the result is ready, draws included; seconds to compile."""
    made, given, ids = subject.make(), examples(subject, waves), np.arange(len(waves))
    op = made if isinstance(made, Op) else stateless(made) if subject.of != "batch" else None
    call = jax.jit(made) if op is None else batch(op, mesh=every_device())
    keys = itertools.cycle(list(jax.random.split(jax.random.key(0), KEYS)))
    run = lambda: jax.block_until_ready(call(next(keys), ids, given))  # noqa: E731
    return run, seconds(run) - seconds(run)


def every_device() -> jax.sharding.Mesh:
    """All devices; on a CPU the benchmark asks for one a core, since XLA runs loops over clips on one core each."""
    return jax.make_mesh((jax.device_count(),), ("core",), axis_types=(jax.sharding.AxisType.Auto,))


def seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def peers(name: str, subject: Subject, size: str, waves: np.ndarray, bench: Bench) -> dict[str, Callable]:
    """Peer to `make(count)`, which gives the call for a batch, and the share of it that the call makes."""
    given = examples(subject, waves)
    values = given.values if subject.of == "features" else waves
    found = {}
    for peer, make in peers_torch_ops.PEERS.get(name, {}).items():
        whole = lambda kept, make=make: peers_torch_ops.run(make, values[:kept])  # noqa: E731
        found[peer] = functools.partial(fitting, whole, limit=BATCH_SECONDS)
    for peer, one in peers_audio_clips.PEERS.get(name, {}).items():
        loop = lambda kept, one=one: peers_audio_clips.run(one, values[:kept], subject.rate)  # noqa: E731
        found[peer] = functools.partial(fitting, loop)
    if name in peers_torch_audiomentations.PEERS:
        whole = lambda kept: peers_torch_audiomentations.run(name, waves[:kept], bench.folder)  # noqa: E731
        found[TORCH_AUDIOMENTATIONS] = functools.partial(fitting, whole, limit=BATCH_SECONDS)
    if name in peers_audiomentations.PEERS:
        found[AUDIOMENTATIONS] = functools.partial(fitting, lambda kept: better(name, size, waves, kept, bench))
    return found


def better(name: str, size: str, waves: np.ndarray, count: int, bench: Bench) -> Callable[[], Any]:
    """audiomentations in threads or in processes, whichever takes less, both tried when warm."""
    in_threads = peers_audiomentations.threads(name, waves[:count], bench.folder)
    in_processes = peers_audiomentations.processes(name, size, count, bench.folder, bench.team)
    found = {}
    for call in (in_threads, in_processes):
        call()
        found[call] = min(seconds(call), seconds(call))
    return min(found, key=found.get)


def fitting(make: Callable[[int], Callable], count: int, *, limit: float = PART_SECONDS) -> tuple[Callable, float]:
    """The call of a peer, and the share of the batch that it makes: not all where that takes longer than `limit`.

    A loop takes as long for each clip, and what is that slow on a batch is a loop within. Parts have an even number of
    clips, for two workers.
    """
    few = make(2)
    few()
    pair = seconds(few)
    if pair * count / 2 <= limit:
        return make(count), 1
    kept = min(count, 2 * max(1, int(PART_SECONDS / pair)))
    return (few if kept == 2 else make(kept)), kept / count


def rounds(sides: list[Side], plan: Plan) -> int:
    """As many rounds as the time allows, judged by one."""
    one = sum(warm_seconds(side.run) for side in sides)
    return int(min(max(plan.seconds / one, plan.rounds), plan.most_rounds))


def warm_seconds(run: Callable[[], Any]) -> float:
    first = seconds(run)
    return first if first > PART_SECONDS else seconds(run)
