"""Points from clouds of up to 30 million ellipsoids: seconds, memory, growth, and the bit array beside it.

python benchmarks/bench_sampling.py [--quick] [--clouds CLOUD,...] [--most BODIES] [--rounds N]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.cores import keep_cores  # noqa: E402

keep_cores(2)

from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402

from benchmarks import sampling_cases as cases  # noqa: E402
from benchmarks import sampling_report as report  # noqa: E402
from benchmarks.sampling_cases import Case  # noqa: E402
from jaxkit.port.machine import environment, now  # noqa: E402

SCRIPT = Path(__file__).with_name("sampling_case.py")
SMALL = 10**6
TIMEOUT = 3600


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small clouds, one round")
    parser.add_argument("--clouds", default=",".join(cases.CLOUDS), help=f"of {', '.join(cases.CLOUDS)}")
    parser.add_argument("--most", type=float, default=3e7, help="leave out clouds of more bodies")
    parser.add_argument("--rounds", type=int, help="rounds of clouds up to a million bodies (default 3, quick 1)")
    parser.add_argument("--folder", type=Path, help="where clouds are kept (default: a temporary folder)")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results", help="folder of the results")
    found = parser.parse_args(given)
    found.clouds = found.clouds.split(",")
    for name in found.clouds:
        if name not in cases.CLOUDS:
            parser.error(f"{name!r} is unknown; choose from {', '.join(cases.CLOUDS)}")
    return found


def chosen(given: argparse.Namespace) -> list[Case]:
    """All cases of the run, jaxkit's and the peer's on the same cloud one after the other."""
    sizes = cases.QUICK if given.quick else cases.FULL
    found = cases.own_cases(sizes, given.clouds) + cases.peer_cases(sizes, given.clouds)
    order = list(given.clouds)
    kept = [case for case in found if case.bodies <= given.most]
    return sorted(kept, key=lambda case: (case.bodies, order.index(case.cloud), case.points))


def measured(given: argparse.Namespace, folder: Path, console: Console) -> Iterator[report.Row]:
    rounds = given.rounds or (1 if given.quick else 3)
    with Progress(console=console, transient=True) as progress:
        for case in progress.track(chosen(given), description="measuring"):
            path = cases.file_of(folder, case.cloud, case.bodies)
            runs = [run(case, path) for _ in range(rounds if case.bodies <= SMALL else 1)]
            row = report.Row(case, runs)
            console.print(report.line(row))
            yield row


def run(case: Case, path: Path) -> dict:
    """The case in a process of its own; a failure is a result too."""
    words = [sys.executable, str(SCRIPT), str(path), case.side, case.cloud, str(case.points), repr(float(case.voxel))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
        return {"error": last if done.returncode > 0 else f"killed by signal {-done.returncode}"}
    return json.loads(done.stdout.strip().splitlines()[-1])


def main(given: argparse.Namespace) -> int:
    """Measures, shows, writes; 1 if a goal was missed."""
    console, start = Console(), time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = list(measured(given, folder, console))
    about = environment(ROOT) | {"PyTorch": version("torch"), "date": now(), "cores": 2, "quick": given.quick}
    about |= {"seconds": round(time.perf_counter() - start)}
    goals = report.goals(rows)
    report.show(console, rows, goals)
    console.print("written:", *(str(path) for path in report.write(given.output, rows, goals, about)))
    return 0 if all(goal.reached for goal in goals) else 1


if __name__ == "__main__":
    sys.exit(main(arguments()))
