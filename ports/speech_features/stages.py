"""How long each stage of the fast program takes by itself, and which of them binds."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax

from jaxkit.port import Request, Table

from . import fast
from .loading import Loaded, load, planned, threads
from .sources import files, noises

ROUNDS = 5
COLUMNS = ("stage", "seconds", "hours of sound a second", "times real time")


def table(request: Request, count: int) -> Table:
    """Decoding in threads, the way to the device, computing there, and the way back; then all of it, overlapped."""
    paths, background = files(request, count), noises(request.seed)
    with threads() as pool:
        groups, _ = planned(paths, pool)
        runs = stages(jax.random.key(request.seed), lambda: list(pool.map(load, groups)), background, pool)
        runs["all, overlapped"] = lambda: fast.prepare(jax.random.key(request.seed), paths, background)
        taken = {name: fastest(run, 2 if request.quick else ROUNDS) for name, run in runs.items()}
    sound = sum(group.seconds for group in groups)
    binding = max(list(taken)[:-1], key=taken.__getitem__)
    whole = taken["all, overlapped"]
    rows = tuple((name, f"{t:.3g}", f"{sound / 3600 / t:.2f}", f"{sound / t:,.0f}") for name, t in taken.items())
    note = f"{len(paths)} files, {sound / 60:.1f} minutes of sound; best of rounds; what binds: {binding}. "
    note += f"Padding: {padding(groups):.0%} of what is computed. "
    note += "The stages share the cores here." if jax.default_backend() == "cpu" else ""
    return Table(f"Where the time goes: {sound / whole:,.0f} times real time, bound by {binding}", COLUMNS, rows, note)


def stages(
    key: jax.Array, decode: Callable[[], list[Loaded]], background: tuple[str, ...], pool: ThreadPoolExecutor
) -> dict[str, Callable[[], Any]]:
    """Each stage as a program without arguments, on what the stage before it has left."""
    make, loaded = fast.recipe(background), decode()
    params = fast.drawn(make, key, 1 + max(int(one.ids.max()) for one in loaded))
    sent = [one._replace(clips=jax.block_until_ready(jax.device_put(one.clips))) for one in loaded]

    def computed() -> list:
        return list(pool.map(lambda one: jax.block_until_ready(fast.start(make, params, one)), sent))

    done = computed()
    return {
        "decoding": decode,
        "transfer": lambda: jax.block_until_ready([jax.device_put(one.clips) for one in loaded]),
        "computing": computed,
        "collecting": lambda: [fast.cut(one.values, one.length) for one in done],
    }


def fastest(run: Callable[[], Any], rounds: int) -> float:
    """Seconds of the best round, after one to warm up."""
    taken = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken[1:])


def padding(groups: list) -> float:
    """The share of the padded batches that is no sound."""
    padded = sum(group.rows * group.samples / group.rate for group in groups)
    return 1 - sum(group.seconds for group in groups) / padded if padded else 0.0
