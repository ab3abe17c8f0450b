"""The loop over files as a careful engineer leaves it: the noises stay in memory, and threads share the files."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from . import slow

load_kept: Callable[[str], np.ndarray] = cache(slow.load)


def prepare(
    rng: np.random.Generator,
    files: Sequence[str],
    noises: Sequence[str],
    *,
    threads: int,
    prepare_file: Callable = slow.prepare_file,
    load: Callable = load_kept,
) -> list[np.ndarray | None]:
    """Features of each file as `slow.prepare` gives them.

    Args:
      threads: how many share the files; librosa's work is done outside of Python's lock for the most part.
      prepare_file: `(file, choice, noise) -> features`.
      load: `file -> [T]` at 16 kHz, which keeps what it has loaded.
    """
    choices = [slow.draw(rng, noises) for _ in files]
    every = [load(noise) for noise in noises]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda file, choice: prepare_file(file, choice, every[choice.noise]), files, choices))
