"""audiomentations, used through its public API: a loop over clips, the batch shared by two threads or two processes.

It draws itself, from the same ranges where it has them. Where it has no exact counterpart the nearest stands:
`Resample` for speed, `TimeMask` for dropout, `BitCrush` with 5 to 10 bits. Every worker has a transform of its own,
since transforms keep what they drew. The processes are started once and kept; each writes its half of the batch into
memory that is shared with this process: less than a `DataLoader` does.
"""

import functools
import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any, NamedTuple

import audiomentations as A
import numpy as np

from benchmarks.audio_clips import RATE, SIZES, clips

WORKERS = 2
SNR = {"min_snr_db": 5.0, "max_snr_db": 20.0, "p": 1.0}
COLOURS = {"min_f_decay": -6.0, "max_f_decay": 6.0}

PEERS: dict[str, Callable[[Path], Any]] = {
    "add_noise": lambda folder: A.AddBackgroundNoise(folder / "noises", **SNR),
    "gaussian_snr": lambda folder: A.AddGaussianSNR(**SNR),
    "coloured_noise": lambda folder: A.AddColorNoise(**COLOURS, **SNR),
    "reverb": lambda folder: A.ApplyImpulseResponse(folder / "responses", p=1.0),
    "speed": lambda folder: A.Resample(round(RATE / 1.1), round(RATE / 0.9), p=1.0),
    "time_stretch": lambda folder: A.TimeStretch(0.8, 1.25, p=1.0),
    "pitch_shift": lambda folder: A.PitchShift(-4.0, 4.0, p=1.0),
    "low_pass": lambda folder: A.LowPassFilter(p=1.0),
    "high_pass": lambda folder: A.HighPassFilter(p=1.0),
    "band_pass": lambda folder: A.BandPassFilter(p=1.0),
    "band_stop": lambda folder: A.BandStopFilter(p=1.0),
    "peaking": lambda folder: A.PeakingFilter(p=1.0),
    "shelf": lambda folder: A.HighShelfFilter(p=1.0),
    "bit_crush": lambda folder: A.BitCrush(p=1.0),
    "clip": lambda folder: A.ClippingDistortion(p=1.0),
    "gain": lambda folder: A.Gain(-6.0, 6.0, p=1.0),
    "polarity": lambda folder: A.PolarityInversion(p=1.0),
    "reverse": lambda folder: A.Reverse(p=1.0),
    "shift": lambda folder: A.Shift(-0.5, 0.5, shift_unit="seconds", rollover=False, p=1.0),
    "shift_wrap": lambda folder: A.Shift(-0.5, 0.5, shift_unit="seconds", p=1.0),
    "dropout": lambda folder: A.TimeMask(0.01, 0.03, p=1.0),
    "trim": lambda folder: A.Trim(30.0, p=1.0),
}


class Team(NamedTuple):
    """Processes that wait for work, and the memory that they share with this one."""

    workers: list[Executor]
    segments: list[shared_memory.SharedMemory]


@contextmanager
def workers() -> Iterator[Team]:
    """Starts processes, and ends them and their memory."""
    context = multiprocessing.get_context("spawn")
    team = Team([ProcessPoolExecutor(1, mp_context=context) for _ in range(WORKERS)], [])
    try:
        yield team
    finally:
        for worker in team.workers:
            worker.shutdown()
        for segment in team.segments:
            segment.close()
            segment.unlink()


def threads(name: str, waves: np.ndarray, folder: Path) -> Callable[[], np.ndarray]:
    """A call that makes the batch in two threads."""
    out = np.empty_like(waves)
    parts, targets = np.array_split(waves, WORKERS), np.array_split(out, WORKERS)
    transforms = [PEERS[name](folder) for _ in parts]
    pool = ThreadPoolExecutor(WORKERS)

    def run() -> np.ndarray:
        list(pool.map(write, transforms, parts, targets))
        return out

    return run


def write(transform: Callable, waves: np.ndarray, out: np.ndarray) -> None:
    """Transforms clips one after the other, into their rows; what is longer than a row is cut."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for wave, row in zip(waves, out, strict=True):
            result = transform(samples=wave, sample_rate=RATE)
            kept = min(len(result), len(row))
            row[:kept] = result[:kept]


def processes(name: str, size: str, count: int, folder: Path, team: Team) -> Callable[[], None]:
    """A call that makes the first `count` clips of a batch in two processes, until they lie in shared memory here."""
    rows = np.array_split(np.arange(count), WORKERS)
    shape = count, SIZES[size].seconds * RATE
    segment = shared_memory.SharedMemory(create=True, size=int(np.prod(shape)) * 4)
    team.segments.append(segment)

    def run() -> None:
        orders = [
            worker.submit(fill, name, size, shape, (int(part[0]), len(part)), str(folder), segment.name)
            for worker, part in zip(team.workers, rows, strict=True)
        ]
        for order in orders:
            order.result()

    return run


def fill(name: str, size: str, shape: tuple, rows: tuple[int, int], folder: str, segment: str) -> None:
    """In a worker: transforms its clips and copies them to their rows."""
    first, count = rows
    transform, waves = prepared(name, folder), batch(size)[first : first + count]
    memory = shared_memory.SharedMemory(name=segment)
    out = np.ndarray(shape, np.float32, memory.buf)
    write(transform, waves, out[first : first + count])
    del out
    memory.close()


@functools.cache
def prepared(name: str, folder: str) -> Callable:
    return PEERS[name](Path(folder))


@functools.cache
def batch(size: str) -> np.ndarray:
    return clips(SIZES[size])
