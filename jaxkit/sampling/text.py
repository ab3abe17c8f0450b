"""Rows of numbers in text: .csv files, and the ASCII form of .ply."""

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxkit.sampling import columns
from jaxkit.sampling.ingest import BLOCK
from jaxkit.sampling.rows import Parts, Source

PIECE = 2**24
NEWLINE = 10
DELIMITERS = (",", ";", "\t")


class Lines(NamedTuple):
    """Lines of a file, one row of numbers each, found by number.

    Attributes:
      path: the file.
      starts: place of every `BLOCK`-th line in the file, and of the end.
      rows: how many lines there are.
      delimiter: what stands between numbers; None: white space.
    """

    path: str
    starts: tuple[int, ...]
    rows: int
    delimiter: str | None

    def read(self, first: int, last: int) -> list[str]:
        """The lines from `first` to before `last`, blank ones too."""
        low, high = first // BLOCK, -(-last // BLOCK)
        with open(self.path, "rb") as file:
            file.seek(self.starts[low])
            text = file.read(self.starts[high] - self.starts[low]).decode("ascii", "replace")
        return text.split("\n")[first - low * BLOCK : last - low * BLOCK]


def lines(path: str, start: int, delimiter: str | None, *, most: int | None = None) -> Lines:
    """The lines from byte `start` on, up to `most` or to the last that is not blank; reads the file once."""
    end, at, rows, starts, last = _end(path, start), start, 0, [start], start
    with open(path, "rb") as file:
        file.seek(start)
        while at < end and (most is None or rows < most):
            piece = np.frombuffer(file.read(min(PIECE, end - at)), np.uint8)
            breaks = np.flatnonzero(piece == NEWLINE)
            breaks = breaks if most is None else breaks[: most - rows]
            starts += (at + 1 + breaks[-(rows + 1) % BLOCK :: BLOCK]).tolist()
            last = at + 1 + int(breaks[-1]) if len(breaks) else last
            rows, at = rows + len(breaks), at + len(piece)
    if rows == most:
        end = last
    elif end > start:
        rows += 1
    return Lines(path, (*starts[: -(-rows // BLOCK)], end), rows, delimiter)


def _end(path: str, start: int) -> int:
    """The place after the last byte that is not white space."""
    end = os.path.getsize(path)
    with open(path, "rb") as file:
        while end > start:
            low = max(start, end - BLOCK)
            file.seek(low)
            tail = file.read(end - low).rstrip()
            if tail:
                return low + len(tail)
            end = low
    return start


def table(rows: Sequence[str], delimiter: str | None, wanted: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The columns `wanted` of lines as numbers `[n, len(wanted)]` float64, and which lines were unreadable `[n]`."""
    readable = np.zeros(len(rows), bool)
    if all(row.strip() for row in rows):
        try:
            settings = {"delimiter": delimiter, "usecols": tuple(wanted), "comments": None, "ndmin": 2}
            return np.loadtxt(rows, np.float64, **settings), readable
        except ValueError:
            pass
    found = [_numbers(row, delimiter, wanted) for row in rows]
    unreadable = np.array([numbers is None for numbers in found], bool)
    nothing = [np.nan] * len(wanted)
    return np.array([numbers or nothing for numbers in found], np.float64), unreadable


def _numbers(row: str, delimiter: str | None, wanted: Sequence[int]) -> list[float] | None:
    cells = row.split(delimiter)
    try:
        return [float(cells[index]) for index in wanted]
    except (ValueError, IndexError):
        return None


def source(found: Lines, names: Sequence[str], reading: columns.Reading) -> Source:
    """The rows of lines whose columns have these names.

    Raises:
      ValueError: if the columns do not make a cloud.
    """
    parts, convert = columns.conversion(found.path, columns.parts_of(found.path, names), reading)
    wanted = [column for part in parts for column in columns.COLUMNS[part]]
    places = [names.index(column) for column in wanted]

    def read(first: int, last: int) -> Parts:
        numbers, unreadable = table(found.read(first, last), found.delimiter, places)
        arrays = columns.stacked(lambda column: numbers[:, wanted.index(column)], parts)
        return arrays | {"unreadable": unreadable}

    return Source(found.rows, read, convert)


def csv(path: str, reading: columns.Reading) -> Source:
    """A file with a line of column names, then one row a line; separated by commas, semicolons or tabs.

    Comments, lines that begin with #, may come before the names, which may be one themselves.

    Raises:
      ValueError: if there is no such line or its names do not make a cloud.
    """
    with open(path, "rb") as file:
        text = "#"
        while text.startswith("#") and not {"x", "y", "z"} <= set(_names(text)[0]):
            text = file.readline(BLOCK).decode("utf-8-sig", "replace").strip()
        start = file.tell()
    names, delimiter = _names(text)
    if not any(name.isidentifier() for name in names):
        found = f"{path} starts with {text[:60]!r}"
        raise ValueError(f"{found}; the first line that is no comment must name the columns, as in x,y,z,radius")
    return source(lines(path, start, delimiter), names, reading)


def _names(text: str) -> tuple[list[str], str]:
    """The names in a line of them, in lower case, and what separates them."""
    text = text.lstrip("#").strip()
    delimiter = max(DELIMITERS, key=text.count)
    return [name.strip().strip('"').lower() for name in text.split(delimiter)], delimiter
