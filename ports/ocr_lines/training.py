"""What augmentation costs in training: a reader learns from a PyTorch DataLoader, augmented the old way and the new."""

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxkit import Sample
from jaxkit.interop import stack, unstack
from jaxkit.port import Request, Table

from . import slow, vectorised
from .fast import AUGMENT
from .lines import PAPER, batch_of
from .reader import encode, new_reader, train_step
from .render import rendered

BATCH = 32
TITLE = f"Training a text-line reader on a PyTorch DataLoader, {BATCH} lines a step"
COLUMNS = ("augmentation", "steps", "augment (ms)", "train (ms)", "share of the step", "loss at first", "loss at last")
INSTALL = "PyTorch is not installed; with `pip install jaxkit[torch]` this trains a reader both ways"


@dataclass(frozen=True)
class Lines:
    """A map-style data set of padded lines `[64, 512, 3]`, their extents and their encoded texts."""

    images: np.ndarray
    valid: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {
            "id": np.int32(index),
            "image": self.images[index],
            "valid": self.valid[index],
            "label": self.labels[index],
        }


class Run(NamedTuple):
    """Median seconds of both parts of a step, and the loss of every step."""

    augment: float
    train: float
    losses: list[float]

    @property
    def share(self) -> float:
        """Augmentation's part of the step."""
        return self.augment / (self.augment + self.train)


def table(request: Request) -> Table:
    """Trains with NumPy and with jaxkit, from equal weights on equal batches; with the slow program a step or two."""
    if find_spec("torch") is None:
        return Table(TITLE, ("note",), ((INSTALL,),))
    data = rendered_lines(64 if request.quick else 512, request.seed)
    steps, slow_steps, slow_lines = (6, 1, 2) if request.quick else (30, 2, BATCH)
    ways = {
        "jaxkit, batch by batch": (by_batch(request.seed), steps, 1),
        "NumPy, line by line": (by_line(vectorised.augment, BATCH), steps, 1),
        "plain Python, line by line": (by_line(slow.augment, slow_lines), slow_steps, BATCH / slow_lines),
    }
    rows = tuple(row(name, train(data, *way, seed=request.seed)) for name, way in ways.items())
    note = f"plain Python was timed on {slow_lines} lines of the batch and multiplied" if slow_lines < BATCH else ""
    return Table(TITLE, COLUMNS, rows, note)


def row(name: str, run: Run) -> tuple:
    ends = (run.losses[:3], run.losses[-3:]) if len(run.losses) >= 6 else ()
    first, last = (f"{np.mean(part):.0f}" for part in ends) if ends else ("", "")
    times = (f"{1e3 * seconds:.0f}" for seconds in (run.augment, run.train))
    return (name, len(run.losses), *times, f"{run.share:.1%}", first, last)


def rendered_lines(count: int, seed: int) -> Lines:
    """Generated lines with their texts."""
    made = rendered(count, seed=seed)
    padded = batch_of(made)
    return Lines(padded.image, padded.valid, np.stack([encode(line.text) for line in made]))


def train(data: Lines, augment: Callable, steps: int, scale: float, *, seed: int = 0) -> Run:
    """Some steps of training; `augment` takes the loader's batch to images `[B, 64, 512, 3]`.

    The median of three or more steps leaves out the one that compiles.

    Args:
      scale: how many batches' worth of time the augmentation stands for, where it did but a part of each batch.
    """
    reader, optimizer = new_reader(seed)
    marks, losses = [], []
    for batch in batches(data, steps, seed):
        start = time.perf_counter()
        images = jax.block_until_ready(augment(batch))
        middle = time.perf_counter()
        loss = float(train_step(reader, optimizer, images, batch["valid"].numpy(), batch["label"].numpy()))
        marks.append((middle - start, time.perf_counter() - middle))
        losses.append(loss)
    augment_seconds, train_seconds = (statistics.median(part) for part in zip(*marks, strict=True))
    return Run(scale * augment_seconds, train_seconds, losses)


def batches(data: Lines, count: int, seed: int) -> Iterator[dict]:
    """`count` shuffled batches of torch tensors, epoch after epoch."""
    from torch import Generator
    from torch.utils.data import DataLoader

    loader = DataLoader(data, BATCH, shuffle=True, drop_last=True, generator=Generator().manual_seed(seed))
    return itertools.islice(itertools.chain.from_iterable(itertools.repeat(loader)), count)


def by_line(augment: Callable, lines: int) -> Callable:
    """The loop that the project had; only the first `lines` of a batch, the rest stays as it is."""
    rng = np.random.default_rng(0)

    def run(batch: dict) -> np.ndarray:
        images, valid = batch["image"].numpy(), batch["valid"].numpy()
        done = [augment(rng, image) for image in unstack(Sample(images[:lines], valid=valid[:lines]))]
        return np.concatenate([stack(done, size=images.shape[1:3], fill=PAPER).image, images[lines:]])

    return run


def by_batch(seed: int) -> Callable:
    """jaxkit on the whole batch; the tensors are handed over without a copy."""
    from jaxkit.interop.torch import to_jax

    keys = (jax.random.fold_in(jax.random.key(seed), step) for step in itertools.count())

    def run(batch: dict) -> jax.Array:
        lines = to_jax(batch)
        return AUGMENT(next(keys), lines["id"], Sample(lines["image"], valid=lines["valid"])).image

    return run
