"""Checks of all ops and chains on an accelerator, in one go: the same results as the CPU's, and the throughput.

    python benchmarks/gpu_check.py [--small] [--output FILE]

Runs on a machine with the CPU alone too, where it compares the CPU with itself: a test of this script.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import jax  # noqa: E402
import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from benchmarks.image_ops import SUBJECTS  # noqa: E402
from benchmarks.pictures import SIZES, Size, pictures  # noqa: E402
from jaxkit import Sample, batch  # noqa: E402

CALLS = 20
LEVELS = 1.0
CARRIED = 1e-4  # Share of values that a rounding carried through a chain may move further than one level.


class Found(NamedTuple):
    """One op on one batch: milliseconds a batch on the accelerator, and how far its result is from the CPU's.

    Attributes:
      resident_ms: with pictures that already lie on the device.
      host_ms: with pictures in host memory, results left on the device.
      largest: difference of the results in levels of 255, for the same draws.
      beyond: share of values that differ by more than one level.
      draws_apart: largest relative difference of what the two devices draw from the same key.
      temporary_batches: temporary memory as a multiple of the batch.
    """

    op: str
    size: str
    compile_s: float
    resident_ms: float
    host_ms: float
    megapixels_per_second: float
    largest: float
    beyond: float
    draws_apart: float
    temporary_batches: float
    passed: bool


def check(name: str, size_name: str, size: Size, device: Any, reference: Any) -> Found:
    """Draws and applies on both devices, the reference's draws on both, and times the device."""
    op = SUBJECTS[name].make(size.height, size.width)
    key, ids, sample = jax.random.key(0), np.arange(size.count), Sample(image=pictures(size))
    with jax.default_device(reference):
        call = batch(op)
        params = jax.tree.map(np.asarray, call.draw(key, ids, sample))
        expected = np.asarray(call.apply(params, sample).image)
    with jax.default_device(device):
        call = batch(op)
        drawn = jax.tree.map(np.asarray, call.draw(key, ids, sample))
        compile_s, compiled = compile_apply(call, params, sample)
        result = np.asarray(call.apply(params, sample).image)
        resident = jax.device_put(sample, device)
        times = [milliseconds(call, key, ids, given) for given in (resident, sample)]
    largest, beyond = apart(result, expected)
    draws = relative(drawn, params)
    memory = compiled.memory_analysis().temp_size_in_bytes / sample.image.nbytes
    rate = size.count * size.height * size.width / times[0] / 1e3
    passed = (largest <= LEVELS or (SUBJECTS[name].chained and beyond <= CARRIED)) and draws <= 1e-4
    return Found(name, size_name, compile_s, *times, rate, largest, beyond, draws, memory, bool(passed))


def compile_apply(call, params: Any, sample: Sample) -> tuple[float, Any]:
    start = time.perf_counter()
    compiled = call.apply.lower(params, sample).compile()
    return time.perf_counter() - start, compiled


def milliseconds(call, key: Any, ids: np.ndarray, sample: Sample) -> float:
    """Median time of a call, drawing included, each waited for."""
    times = []
    for index in range(CALLS + 1):
        start = time.perf_counter()
        jax.block_until_ready(call(key, ids + index, sample))
        times.append(1e3 * (time.perf_counter() - start))
    return float(np.median(times[1:]))


def apart(result: np.ndarray, expected: np.ndarray) -> tuple[float, float]:
    """The largest difference in levels, and the share of values beyond one level."""
    scale = 1.0 if expected.dtype == np.uint8 else 255.0
    difference = scale * np.abs(result.astype(np.float32) - expected.astype(np.float32))
    return float(difference.max()), float((difference > LEVELS).mean())


def relative(drawn: Any, params: Any) -> float:
    pairs = zip(jax.tree.leaves(drawn), jax.tree.leaves(params), strict=True)
    floats = [(np.asarray(a, np.float64), np.asarray(b, np.float64)) for a, b in pairs]
    return max((float((np.abs(a - b) / np.maximum(np.abs(b), 1.0)).max()) for a, b in floats), default=0.0)


def show(console: Console, found: list[Found], about: dict[str, Any]) -> None:
    table = Table("op", "batch", *(name for name in Found._fields[2:]), title=str(about))
    for row in found:
        cells = [f"{value:.3g}" if isinstance(value, float) else str(value) for value in row]
        table.add_row(*cells, style=None if row.passed else "red")
    console.print(table, soft_wrap=True)


def main() -> int:
    """Checks everything; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="batches of 4")
    parser.add_argument("--output", type=Path, help="JSON file for the results")
    given = parser.parse_args()
    device, reference = jax.devices()[0], jax.local_devices(backend="cpu")[0]
    about = {"device": device.device_kind, "reference": reference.device_kind, "jax": jax.__version__}
    found = []
    for name, subject in SUBJECTS.items():
        for size_name in subject.sizes:
            size = SIZES[size_name]._replace(count=4) if given.small else SIZES[size_name]
            found.append(check(name, size_name, size, device, reference))
            print(*found[-1], flush=True)
    show(Console(width=200), found, about)
    if given.output:
        given.output.write_text(json.dumps({"about": about, "rows": [row._asdict() for row in found]}, indent=1) + "\n")
    return 0 if all(row.passed for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
