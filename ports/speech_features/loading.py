"""From files to padded batches on the host."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from jaxkit import Clip

from .files import Header, Skipped, decode, header
from .plan import Group, grouped


class Loaded(NamedTuple):
    """A batch on the host: `clips` with `[rows, samples]` waves, `ids` `[rows]`, and the files that were no use."""

    ids: np.ndarray
    clips: Clip
    skipped: dict[int, Skipped]


def threads() -> ThreadPoolExecutor:
    """Two for each core: libsndfile and the device's programs run outside of Python's lock, and wait for memory."""
    return ThreadPoolExecutor(2 * (os.cpu_count() or 1))


def planned(files: Sequence[str], pool: ThreadPoolExecutor) -> tuple[list[Group], dict[int, Skipped]]:
    """Batches of all files with a good header, and by their number those that have none."""
    found = list(pool.map(header, files))
    bad = {index: one for index, one in enumerate(found) if isinstance(one, Skipped)}
    return grouped([one if isinstance(one, Header) else None for one in found]), bad


def load(group: Group) -> Loaded:
    """Decodes the files of a batch. Rows that are not used, or whose file cannot be, have length zero."""
    waves = np.empty((group.rows, group.samples), np.float32)  # what is beyond the end of a file may hold anything
    length, skipped = np.zeros(group.rows, np.int32), {}
    for row, (index, found) in enumerate(zip(group.ids.tolist(), group.headers, strict=True)):
        wave = decode(found, waves[row])
        if isinstance(wave, Skipped):
            skipped[index] = wave
        else:
            length[row] = len(wave)
    unused = np.zeros(group.rows - len(group.ids), group.ids.dtype)
    return Loaded(np.append(group.ids, unused), Clip(waves, length, group.rate), skipped)
