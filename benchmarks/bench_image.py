"""Every image op and three chains, against OpenCV and AlbumentationsX, interleaved in one run.

python benchmarks/bench_image.py [--quick] [--only OP,...] [--sizes SIZE,...]
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.cores import keep_cores  # noqa: E402

keep_cores(2)

import albumentations  # noqa: E402
import cv2  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402

from benchmarks import limits, measure, processes, report  # noqa: E402
from benchmarks.choice import names  # noqa: E402
from benchmarks.image_ops import SUBJECTS  # noqa: E402
from benchmarks.pictures import SIZES  # noqa: E402
from jaxkit.port.machine import environment, now  # noqa: E402

ROUNDS, QUICK_ROUNDS = 15, 5
NOTES = (
    "Times are medians (quartiles) in milliseconds a batch, over interleaved rounds in one process. A ratio says how "
    "many times faster jaxkit is: the ratio of medians, with its 95 % bootstrap interval.",
    "",
    "jaxkit: from pictures in a NumPy array, draws included, until the result is ready. OpenCV: a loop of Python over "
    "the pictures with two threads (`cv2.setNumThreads(2)`), in the fastest form known to us, results written in place "
    "and with jaxkit's draws, for free. AlbumentationsX: a loop over a `Compose` in one thread, results copied into a "
    "batch, with draws of its own from the same ranges.",
    "",
    "`same result` is the largest difference, in levels of 255, of OpenCV's batch from jaxkit's for the same draws, "
    "compared before timing; where it is more than one level OpenCV is not timed. `not the same`: the field is "
    "interpolated otherwise (elastic), the filter is another (antialias against INTER_AREA), or the noise is.",
    "",
    "Two processes: workers that are started once and kept, one thread each, both making whole batches from pictures "
    "in their memory; the time until both batches lie in shared memory mapped by the main process, halved. Counted as "
    "in a DataLoader: the loop, the copy into a new shared segment, the message, the mapping. `loop only` is without "
    "the last three. `warp by warp` is the chain with warpAffine, warpPerspective and remap one after the other.",
)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, one slow line")
    parser.add_argument("--only", default="", help="ops, comma separated; 'limits' for the limits")
    parser.add_argument("--sizes", default="", help=f"batches, comma separated, of {', '.join(SIZES)}")
    parser.add_argument("--rounds", type=int, help=f"least rounds (default {ROUNDS}, quick {QUICK_ROUNDS})")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results", help="folder of the results")
    found = parser.parse_args(given)
    found.only = names(parser, found.only, [*SUBJECTS, "limits"], [*SUBJECTS, "limits"])
    found.sizes = names(parser, found.sizes, SIZES, SIZES)
    return found


def chosen(given: argparse.Namespace) -> list[tuple[str, str]]:
    return [
        (name, size)
        for name, subject in SUBJECTS.items()
        for size in subject.sizes
        if name in given.only and size in given.sizes
    ]


def rows(given: argparse.Namespace, console: Console) -> Iterator[measure.Row]:
    rounds = given.rounds or (QUICK_ROUNDS if given.quick else ROUNDS)
    with processes.workers() as team, Progress(console=console, transient=True) as progress:
        for name, size in progress.track(chosen(given), description="measuring"):
            yield measure.measure(name, size, rounds=rounds, team=team)


def about(given: argparse.Namespace, seconds: float) -> dict[str, object]:
    versions = {"OpenCV": cv2.__version__, "AlbumentationsX": albumentations.__version__}
    threads = "jaxkit all cores of the process, OpenCV 2, AlbumentationsX 1, workers 1 each"
    rounds = given.rounds or (QUICK_ROUNDS if given.quick else ROUNDS)
    how = {"date": now(), "least rounds": rounds, "threads": threads, "seconds": round(seconds)}
    return environment(ROOT) | versions | how


def main(given: argparse.Namespace) -> int:
    """Measures, shows, writes; 1 if a goal was missed."""
    console, start = Console(), time.perf_counter()
    found = list(rows(given, console))
    kept = limits.limits(quick=given.quick) if "limits" in given.only else []
    report.show(console, found, kept)
    written = report.write(given.output, found, kept, about(given, time.perf_counter() - start), NOTES)
    console.print("written:", *(str(path) for path in written))
    missed = [goal for row in found for goal in row.goals if not goal.reached]
    return 1 if missed or not all(limit.reached for limit in kept) else 0


if __name__ == "__main__":
    sys.exit(main(arguments()))
