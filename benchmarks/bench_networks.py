"""EfficientNet-Lite0 in JAX and in runtimes, in float and in integers; jaxkit's integers against those of its peers.

python benchmarks/bench_networks.py [--quick] [--parts networks,methods,layers] [--output DIR]

Needs `pip install 'jaxkit[bench]'`. Peers whose requirements contradict those of JAX's companions get environments of
their own; one that is missing is listed as "not installed":

    python3 -m venv litert
    litert/bin/pip install litert-converter ai-edge-litert scipy absl-py
    litert/bin/pip install --no-deps litert-quantizer immutabledict litert-lm-builder tomli
    python3 -m venv nncf
    nncf/bin/pip install nncf openvino onnx
    python3 -m venv qwix
    qwix/bin/pip install qwix 'jax>=0.10,<0.13' 'flax>=0.12' numpy
    export JAXKIT_LITERT=$PWD/litert/bin/python JAXKIT_NNCF=$PWD/nncf/bin/python JAXKIT_QWIX=$PWD/qwix/bin/python
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.cores import keep_cores  # noqa: E402

keep_cores(2)

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402

from benchmarks import network_report as report  # noqa: E402
from benchmarks import peers_onnxruntime  # noqa: E402
from benchmarks.choice import names  # noqa: E402
from benchmarks.network_case import make  # noqa: E402
from benchmarks.network_measure import QUICK, SAME, Plan, layer_rows, network_rows, prepare, qualities  # noqa: E402
from benchmarks.network_process import team  # noqa: E402
from jaxkit.port.machine import environment, now  # noqa: E402

PARTS = ("networks", "methods", "layers")
PACKAGES = ("flax", "torch", "onnx", "onnxruntime", "openvino")
NOTES = (
    "Times are medians (quartiles) in milliseconds over rounds, from NumPy array to NumPy array. The sides of a table "
    "take turns: each runs in a process of its own that stays alive, calls once untimed and then for a tenth of a "
    "second, and the median of its calls is one round. A ratio says how many times faster a side is than stock Flax: "
    "the ratio of medians, with its 95 % bootstrap interval. One thread: the process keeps to one core, and XLA has no "
    "pool. Runtimes have their default options, but ONNX Runtime's threads do not spin between calls.",
    "",
    "stock Flax: the network of `ports/small_net` in plain Flax, compiled. jaxkit.nn: the same, of its blocks. folded: "
    "the graph that `jaxkit.compress.trace` makes of that. Float and int8: jaxkit's files.",
    "",
    "From float to integers: all start from the same weights (jaxkit's file in float where they read files), and all "
    "that calibrate see the same pictures; agreement is with float on other crops of the same photographs. It ranks "
    "methods, it is no ImageNet accuracy. On x86 without VNNI products of 8 bits saturate in ONNX Runtime and OpenVINO "
    "(said above of this CPU): what leaves no room for that loses much there. jaxkit leaves room by default, and with "
    "isa=vnni it does not. `as simulated`: logits that equal those of jaxkit's simulator.",
)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds and pictures, no batches")
    parser.add_argument("--parts", default="", help=f"comma separated, of {', '.join(PARTS)}")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results", help="folder of the results")
    found = parser.parse_args(given)
    found.parts = names(parser, found.parts, PARTS, PARTS)
    return found


def measured(given: argparse.Namespace, console: Console, folder: Path) -> report.Found:
    """Everything, in an order that leaves nothing running beside what is timed."""
    plan, found = QUICK if given.quick else Plan(), report.Found([], [], [])
    with team() as worker:
        if "layers" in given.parts:
            found = found._replace(layers=noted(console, "layers", lambda: list(layer_rows(folder, plan, worker))))
        if {"networks", "methods"} & set(given.parts):
            case = noted(console, "pictures and weights", lambda: make(folder, every=plan.every))
            found = of_network(given, console, (case, plan, worker), found)
    return found


def of_network(given: argparse.Namespace, console: Console, how: tuple, found: report.Found) -> report.Found:
    case, plan, worker = how
    failed = noted(console, "files", lambda: prepare(case, plan, worker))
    if "networks" in given.parts:
        found = found._replace(networks=noted(console, "latency", lambda: list(network_rows(case, plan, worker))))
    if "methods" in given.parts:
        found = found._replace(methods=noted(console, "methods", lambda: qualities(case, plan, worker, failed)))
    return found


def noted(console: Console, what: str, run: Callable):
    """Runs, and says how long it took."""
    start = time.perf_counter()
    result = run()
    console.print(f"{what}: {time.perf_counter() - start:.0f} s")
    return result


def about(given: argparse.Namespace, folder: Path, seconds: float) -> dict[str, object]:
    files = [folder / f"{name}.npy" for name in ("calibration", "test")]
    counts = {file.stem: len(np.load(file)) for file in files if file.exists()}
    saturates = {"products of 8 bits saturate in ONNX Runtime": peers_onnxruntime.saturates()}
    how = {"date": now(), "quick": given.quick, "cores": 2, "pictures": counts, "seconds": round(seconds)}
    return environment(ROOT) | {name: version(name) for name in PACKAGES} | saturates | how


def main(given: argparse.Namespace) -> int:
    """Measures, shows, writes; 1 if a goal was missed or layers differ."""
    console, start = Console(), time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        found = measured(given, console, Path(temporary))
        known = about(given, Path(temporary), time.perf_counter() - start)
    report.show(console, found)
    written = report.write(given.output, found, known, NOTES)
    console.print("written:", *(str(path) for path in written))
    same = all(row.apart <= SAME for row in found.layers)
    return 0 if same and all(goal.reached for goal in report.goals(found)) else 1


if __name__ == "__main__":
    sys.exit(main(arguments()))
