"""Runs networks and quantizers in whatever environment: a plain file, run by its path, that imports what it is told.

Requests come by standard input and answers leave by standard output, a line of JSON each; arrays lie in `.npy` files.
The environment of a peer has NumPy and the peer, often neither JAX nor jaxkit.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROWS = 16
LONG = 0.3
sessions: dict[str, Callable[[Any], Any]] = {}
calls_seconds: dict[tuple[str, int], float] = {}


def keep_cores(count: int) -> None:
    """Lets this process run on its first cores only, before any library counts them."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


def call(module: str, function: str, given: dict) -> Any:
    """What a function of a module answers."""
    return getattr(importlib.import_module(module), function)(**given)


def open_session(name: str, module: str, given: dict) -> None:
    """Keeps what the module's `open_session` returns: a function of float32 `[N, ...]` that returns a NumPy array."""
    sessions[name] = importlib.import_module(module).open_session(**given)


def run(name: str, inputs: str, outputs: str) -> None:
    """A session on all the inputs of a file, `ROWS` at a time, always as many; the results go to another file."""
    import numpy as np

    x = np.load(inputs)
    filled = np.concatenate([x, np.repeat(x[-1:], -len(x) % ROWS, axis=0)])
    parts = [np.array(sessions[name](filled[i : i + ROWS])) for i in range(0, len(filled), ROWS)]
    np.save(outputs, np.concatenate(parts)[: len(x)])


def milliseconds(name: str, shape: list[int], seconds: float) -> float:
    """Median over the calls that fit into some seconds, one at least, after one that is not timed.

    That one fills caches again after others had their turn. A call that takes long, and is not the first of its kind,
    goes without.
    """
    import numpy as np

    x = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    found: list[float] = []
    if calls_seconds.get((name, shape[0]), 0.0) < LONG:
        sessions[name](x)
    end = time.perf_counter() + seconds
    while not found or time.perf_counter() < end:
        start = time.perf_counter()
        sessions[name](x)
        found.append(time.perf_counter() - start)
    calls_seconds[name, shape[0]] = found[-1]
    return 1e3 * float(np.median(found))


def answer(request: dict) -> dict:
    known = {"call": call, "open": open_session, "run": run, "milliseconds": milliseconds}
    try:
        return {"value": known[request.pop("do")](**request)}
    except ModuleNotFoundError as error:
        return {"error": "not installed", "why": str(error)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0]}


def main() -> None:
    """Answers until the input ends."""
    # Libraries print to standard output, which is for answers alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    keep_cores(int(sys.argv[1]))
    sys.path.insert(0, str(ROOT))
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
