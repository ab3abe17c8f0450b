"""Files in batches of few shapes: those of one rate and about one length are padded to one length."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from jaxkit.interop import bucket_of, buckets

from .files import Header

STEPS = 2  # a second: lengths are rounded up to half of it, so that rates and similar folders share programs
FILES_PER_LENGTH, MOST_LENGTHS = 24, 6
ROWS_ON_CPU, ROWS = 2, 32


class Group(NamedTuple):
    """One batch: `ids` `[n]` number its files, n at most `rows`; all are padded to `samples` at `rate` Hz."""

    ids: np.ndarray
    headers: tuple[Header, ...]
    rows: int
    samples: int
    rate: int

    @property
    def seconds(self) -> float:
        """Of sound in it, padding left out."""
        return sum(header.seconds for header in self.headers)


def grouped(found: Sequence[Header | None]) -> list[Group]:
    """Batches of all files that have a header, the longest files first.

    More files pay for more lengths, and so for less padding. A CPU works on one row after the other: small batches cost
    it nothing, and fewer of their rows stay empty.
    """
    headers = {index: header for index, header in enumerate(found) if header is not None}
    edges = lengths(list(headers.values()))
    kinds: dict[tuple[int, int], list[int]] = {}
    for index, header in headers.items():
        kinds.setdefault((bucket_of(steps(header), edges), header.rate), []).append(index)
    rows = ROWS_ON_CPU if jax.default_backend() == "cpu" else ROWS
    return [
        Group(np.array(ids), tuple(headers[i] for i in ids), rows, -(-edge * rate // STEPS), rate)
        for (edge, rate), members in sorted(kinds.items(), reverse=True)
        for ids in (members[start : start + rows] for start in range(0, len(members), rows))
    ]


def lengths(headers: Sequence[Header]) -> tuple[int, ...]:
    """The lengths to pad to, in half seconds: those that waste the least."""
    count = min(MOST_LENGTHS, 1 + len(headers) // FILES_PER_LENGTH)
    return buckets([steps(header) for header in headers], count) if headers else ()


def steps(header: Header) -> int:
    return math.ceil(STEPS * header.frames / header.rate)
