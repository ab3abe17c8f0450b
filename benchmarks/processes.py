"""Two worker processes that are started once and kept, as those of a PyTorch `DataLoader` are.

Every worker has its pictures in memory, as after decoding, and makes whole batches. What a batch costs is the time
from the order until both workers' batches lie mapped in this process, halved. As in a `DataLoader` that counts: the
loop over the pictures, a copy of the results into a new segment of shared memory, a message through a pipe, and mapping
the segment here; not: reading the results here, and feeding the workers. JAX computes nothing in the workers.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import shared_memory
from typing import Any, NamedTuple

import cv2
import numpy as np

COUNT = 2


class Work(NamedTuple):
    """A batch to make over and over. `params` is None for AlbumentationsX, which draws itself."""

    name: str
    images: np.ndarray
    shape: tuple[int, ...]
    params: Sequence | None = None

    def loop(self) -> Callable[[], np.ndarray]:
        """The call that makes the batch."""
        from benchmarks import peers_albumentations, peers_opencv

        if self.params is None:
            return peers_albumentations.loop(self.name, self.images, self.shape)
        return peers_opencv.loop(self.name, self.params, self.images, self.shape)


class Made(NamedTuple):
    """A batch in shared memory, and the seconds that the loop over its pictures took."""

    segment: str
    seconds: float


class Worker(NamedTuple):
    process: Any
    pipe: Any


@contextmanager
def workers(count: int = COUNT) -> Iterator[list[Worker]]:
    """Starts processes that wait for work, and ends them."""
    context = multiprocessing.get_context("spawn")
    started = []
    for _ in range(count):
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there,), daemon=True)
        process.start()
        started.append(Worker(process, here))
    try:
        yield started
    finally:
        for worker in started:
            worker.pipe.send(None)
            worker.process.join(timeout=10)


def serve(pipe: Any) -> None:
    """Takes `(key, work)` to prepare, keys to run, None to end."""
    cv2.setNumThreads(1)
    loops: dict[str, Callable[[], np.ndarray]] = {}
    while (order := pipe.recv()) is not None:
        if isinstance(order, str):
            start = time.perf_counter()
            batch = loops[order]()
            seconds = time.perf_counter() - start
            pipe.send(Made(share(batch), seconds))
        else:
            key, work = order
            loops[key] = work.loop()
            pipe.send(key)


def share(batch: np.ndarray) -> str:
    segment = shared_memory.SharedMemory(create=True, size=batch.nbytes)
    np.copyto(np.ndarray(batch.shape, batch.dtype, segment.buf), batch)
    segment.close()
    return segment.name


def prepare(team: Sequence[Worker], key: str, work: Work) -> None:
    """Gives every worker the same work, under a key."""
    for worker in team:
        worker.pipe.send((key, work))
    for worker in team:
        worker.pipe.recv()


def run(team: Sequence[Worker], key: str) -> float:
    """One batch from every worker at the same time. Returns the longest loop's seconds."""
    for worker in team:
        worker.pipe.send(key)
    made = [worker.pipe.recv() for worker in team]
    for batch in made:
        segment = shared_memory.SharedMemory(name=batch.segment)
        segment.close()
        segment.unlink()
    return max(batch.seconds for batch in made)
