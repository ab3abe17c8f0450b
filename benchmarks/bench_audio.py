"""Every preset, filter and op of sound against PyTorch, librosa, kaldi-native-fbank, soxr, SciPy and audiomentations.

python benchmarks/bench_audio.py [--quick] [--only OP,...] [--sizes SIZE,...]
"""

import argparse
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

import jax  # noqa: E402
import torch  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402

from benchmarks import audio_report as report  # noqa: E402
from benchmarks.audio_clips import SIZES, write_banks  # noqa: E402
from benchmarks.audio_measure import Bench, Plan, Row, measure  # noqa: E402
from benchmarks.audio_ops import SUBJECTS  # noqa: E402
from benchmarks.choice import names  # noqa: E402
from benchmarks.peers_audiomentations import workers  # noqa: E402
from jaxkit.port.machine import environment, now  # noqa: E402

FULL = Plan(rounds=3, most_rounds=15, seconds=1.2)
QUICK = Plan(rounds=2, most_rounds=3, seconds=0.3)
QUICK_OPS = (
    "whisper_log_mel", "kaldi_fbank", "resample_48000", "resample_44100", "speed", "add_noise", "gaussian_snr",
    "reverb", "spec_augment",
)  # fmt: skip
PACKAGES = (
    "torch", "librosa", "kaldi-native-fbank", "soxr", "scipy", "pyloudnorm", "audiomentations", "torch-audiomentations",
)  # fmt: skip
NOTES = (
    "Times are medians (quartiles) in milliseconds a batch, over interleaved rounds in one process. A ratio says how "
    "many times faster jaxkit is: the ratio of medians, with its 95 % bootstrap interval.",
    "",
    "jaxkit: from clips and lengths in NumPy arrays, draws included, until the result is ready, spread over two CPU "
    "devices (`jax_num_cpu_devices`, `batch(op, mesh=...)`). torch: the "
    "batched code that torchaudio runs, in PyTorch because torchaudio's wheel needs CUDA libraries; two threads; "
    "`kaiser_best` is its resampler with the filter that comes near to soxr's. kaldi-native-fbank and librosa: a loop "
    "in one thread. soxr, SciPy, pyloudnorm: a loop shared by two threads. audiomentations: a loop shared by two "
    "threads or two processes, whichever takes less. torch-audiomentations: batched, two threads, over a stand-in for "
    "torchaudio that reads its files.",
    "",
    "Peers draw themselves, from the same ranges where they have them. What they compute is not always the same: torch "
    "resamples with aliases at -8 dB by default, SciPy filters all clips alike, audiomentations' `Resample` stands for "
    "speed. A slow loop is timed on a part of the batch, and the time is that of the whole.",
)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds of the ops that have goals, short clips only")
    parser.add_argument("--only", default="", help="ops, comma separated")
    parser.add_argument("--sizes", default="", help=f"batches, comma separated, of {', '.join(SIZES)}")
    parser.add_argument("--alone", action="store_true", help="without peers")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results", help="folder of the results")
    found = parser.parse_args(given)
    found.only = names(parser, found.only, SUBJECTS, QUICK_OPS if found.quick else SUBJECTS)
    found.sizes = names(parser, found.sizes, SIZES, ("short",) if found.quick else SIZES)
    return found


def rows(given: argparse.Namespace, console: Console, folder: Path) -> Iterator[Row]:
    plan = (QUICK if given.quick else FULL)._replace(peers=not given.alone)
    with workers() as team, Progress(console=console, transient=True) as progress:
        cases = [(name, size) for name in given.only for size in given.sizes]
        for name, size in progress.track(cases, description="measuring"):
            row = measure(name, size, plan=plan, bench=Bench(folder, team))
            console.print(report.line(row))
            yield row


def about(given: argparse.Namespace, seconds: float) -> dict[str, object]:
    how = {"date": now(), "quick": given.quick, "cores": 2, "seconds": round(seconds)}
    return environment(ROOT) | {name: version(name) for name in PACKAGES} | how


def main(given: argparse.Namespace) -> int:
    """Measures, shows, writes; 1 if a goal was missed or an op failed."""
    console, start = Console(), time.perf_counter()
    torch.set_num_threads(2)
    jax.config.update("jax_num_cpu_devices", 2)
    with tempfile.TemporaryDirectory() as temporary:
        write_banks(Path(temporary))
        found = list(rows(given, console, Path(temporary)))
    report.show(console, found)
    written = report.write(given.output, found, about(given, time.perf_counter() - start), NOTES)
    console.print("written:", *(str(path) for path in written))
    reached = all(goal.reached for row in found for goal in row.goals)
    return 0 if reached and not any(row.error for row in found) else 1


if __name__ == "__main__":
    sys.exit(main(arguments()))
