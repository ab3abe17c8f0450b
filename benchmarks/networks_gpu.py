"""Networks on an accelerator, in one go: jaxkit.nn gives what stock Flax gives, how long both take, and integers.

    python benchmarks/networks_gpu.py [--small] [--seconds S] [--output FILE]

Runs on a machine with the CPU alone too, where it compares the CPU with itself: a test of this script. Needs JAX, Flax
and NumPy only. Each line is printed, and the file written, as soon as it is found; what `--seconds` leaves no time for
is listed as left out, so the cases that decide most come first.

Accelerators keep XLA's convolutions, so that jaxkit.nn should take as long as stock Flax. Whether they should is what
the layers tell: "lax" beside "shifts", the sum of shifted products that CPUs run.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from benchmarks.devices import bandwidth  # noqa: E402
from benchmarks.network_depthwise import LAYERS  # noqa: E402
from benchmarks.network_device_cases import (  # noqa: E402
    FEW_LAYERS,
    NETWORKS,
    PRODUCTS,
    forward,
    layer,
    product,
    training,
)

BATCHES, SIDE = (128, 16, 1), 224
SMALL_SIDE = 64
REPEATS, QUEUED = 7, 5
TOLERANCES = {"float32": 2e-3, "bfloat16": 0.1, "int8": 0.0}
GRADIENTS = {"float32": 0.02, "bfloat16": 0.3}  # normalisation by the statistics of a batch makes roundings larger


class Task(NamedTuple):
    """One comparison: what, of which name, in which dtype, for how many examples."""

    what: str
    name: str
    dtype: str
    batch: int
    side: int = SIDE


class Found(NamedTuple):
    """Two sides on the accelerator.

    Attributes:
      first_s: the first call of each side, which compiles.
      ms: a call of each side with everything on the device; the median.
      difference: of the two results, see `difference`.
    """

    what: str
    name: str
    dtype: str
    batch: int
    first_s: dict[str, float] = {}
    ms: dict[str, float] = {}
    difference: float = 0.0
    tolerance: float = 0.0
    passed: bool = False
    error: str = ""


def tasks(small: bool) -> Iterator[Task]:
    """All comparisons, those that decide most first."""
    names = list(NETWORKS)
    if small:
        yield from (Task("product", name, "int8", 1) for name in PRODUCTS)
        yield from (Task("layer", str(index), "float32", 2) for index in range(2))
        yield Task("forward", "EfficientNet-Lite0", "float32", 2, SMALL_SIDE)
        yield from (Task(what, FEW_LAYERS, "bfloat16", 2, SMALL_SIDE) for what in ("forward", "training"))
        yield Task("training", FEW_LAYERS, "float32", 8, SMALL_SIDE)
        return
    for dtype in ("float32", "bfloat16"):
        yield from (Task("layer", str(index), dtype, 16) for index in range(len(LAYERS)))
    yield from (Task("product", name, "int8", 1) for name in PRODUCTS)
    for batch in BATCHES:
        for dtype in ("bfloat16", "float32"):
            yield from (Task("forward", name, dtype, batch) for name in names)
            if batch == max(BATCHES):
                yield from (Task("training", name, dtype, batch) for name in names)


def check(task: Task, device: Any) -> Found:
    """Compares and times; a line with the reason if it fails, so that the rest is checked all the same."""
    try:
        return compared(task, device)
    except Exception as error:
        return Found(*task[:4], error=(f"{type(error).__name__}: {error}".splitlines() or [""])[0])


def compared(task: Task, device: Any) -> Found:
    made = {"layer": layer, "product": product, "forward": forward, "training": training}[task.what]
    first, times, results = {}, {}, []
    with jax.default_device(device):
        for side, run in made(task.name, task.dtype, task.batch, task.side).items():
            first[side], result = timed(run)
            times[side] = repeated(run)
            results.append(jax.device_get(result))
    apart = max(difference(result, results[0]) for result in results[1:])
    tolerance = (GRADIENTS if task.what == "training" else TOLERANCES)[task.dtype]
    return Found(*task[:4], first, times, apart, tolerance, apart <= tolerance)


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = jax.block_until_ready(run())
    return time.perf_counter() - start, result


def repeated(run: Callable[[], Any]) -> float:
    """Median milliseconds of a call, some of which are on their way together, as in a program that waits late."""
    found = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        jax.block_until_ready([run() for _ in range(QUEUED)])
        found.append(1e3 * (time.perf_counter() - start) / QUEUED)
    return sorted(found)[REPEATS // 2]


def difference(result: Any, expected: Any) -> float:
    """The distance of two results as a share of the length of the second; of tuples, the largest of their parts."""
    if isinstance(expected, tuple):
        return max(difference(*parts) for parts in zip(result, expected, strict=True))
    pairs = zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True)
    real = [(np.asarray(own, np.float64), np.asarray(other, np.float64)) for own, other in pairs if is_real(own)]
    apart = sum(float(np.square(own - other).sum()) for own, other in real)
    length = sum(float(np.square(other).sum()) for _, other in real)
    return float(np.nan_to_num(np.sqrt(apart / (length or 1.0)), nan=np.inf))


def is_real(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jnp.number)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="few pictures of 64 pixels, few cases")
    parser.add_argument("--seconds", type=float, default=420.0, help="after which no case is begun")
    parser.add_argument("--output", type=Path, help="JSON file for the results")
    return parser.parse_args(given)


def main(given: argparse.Namespace) -> int:
    """Checks everything that there is time for; 1 if anything failed."""
    device, end = jax.devices()[0], time.perf_counter() + given.seconds
    about = {"device": device.device_kind, "jax": jax.__version__, "bandwidth_gb_s": bandwidth(device) / 1e9}
    print(json.dumps(about), flush=True)
    found, left = [], []
    for task in tasks(given.small):
        if time.perf_counter() > end:
            left.append(task._asdict())
            continue
        found.append(check(task, device))
        print(json.dumps(found[-1]._asdict()), flush=True)
        if given.output:
            rows = [row._asdict() for row in found]
            given.output.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    print(json.dumps({"left out": left}), flush=True)
    return 0 if all(row.passed for row in found) else 1


if __name__ == "__main__":
    sys.exit(main(arguments()))
