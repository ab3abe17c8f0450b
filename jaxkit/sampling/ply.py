"""Clouds in .ply files (Turk 1994): Gaussian splats, or columns named as in a table."""

import os
from typing import Any, NamedTuple

import numpy as np

from jaxkit.sampling import columns, raw, text
from jaxkit.sampling.rows import Parts, Source

ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": ""}
TYPES = {
    **{"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"},
    **{"float": "f4", "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2"},
    **{"int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8"},
}
LINE = 4096


class Element(NamedTuple):
    """A table of the file: its rows, and names and types of its columns (None: a list)."""

    name: str
    rows: int
    names: list[str]
    types: list[str | None]


class Header(NamedTuple):
    """What stands before the rows, and where these begin."""

    order: str
    elements: list[Element]
    size: int


def source(path: str | os.PathLike, reading: columns.Reading, *, kind: str | None = None) -> Source:
    """The rows of the element "vertex".

    Args:
      path: the file; binary ones are read block by block.
      reading: settings of the user.
      kind: a part that must be there, as named in `columns.COLUMNS`.

    Raises:
      ValueError: if the file is broken, or holds no cloud (of that kind).
    """
    path = os.fspath(path)
    header = _header(path)
    before, vertex = _vertex(path, header)
    if kind is not None and kind not in columns.parts_of(path, vertex.names):
        raise ValueError(f"{path} lacks {', '.join(columns.COLUMNS[kind])}; it holds {', '.join(vertex.names)}")
    return (_binary if header.order else _ascii)(path, header, before, vertex, reading)


def _header(path: str) -> Header:
    order, elements = None, []
    with open(path, "rb") as file:
        if file.readline(LINE).strip() != b"ply":
            raise ValueError(f"{path} is no PLY file: it does not begin with a line 'ply'")
        while (line := file.readline(LINE)) and line.strip() != b"end_header":
            word, *words = _text(line).split() or [""]
            if word == "format":
                order = _known(path, ORDERS, words, line)
            elif word == "element":
                elements.append(Element(rows=_count(path, words, line), name=words[0], names=[], types=[]))
            elif word == "property" and elements:
                elements[-1].types.append(None if words[:1] == ["list"] else _known(path, TYPES, words, line))
                elements[-1].names.append(words[-1])
        if not line or order is None:
            raise ValueError(f"{path} has a broken header: no line {'format' if line else 'end_header'!r} in it")
        return Header(order, elements, file.tell())


def _known(path: str, known: dict[str, str], words: list[str], line: bytes) -> str:
    if len(words) != 2 or words[0] not in known:
        raise ValueError(f"{path} has {_text(line)!r} in its header; known are {', '.join(known)}")
    return known[words[0]]


def _count(path: str, words: list[str], line: bytes) -> int:
    if len(words) != 2 or not words[1].isdecimal():
        raise ValueError(f"{path} has {_text(line)!r} in its header, not a name and a number of rows")
    return int(words[1])


def _text(line: bytes) -> str:
    return line.decode("ascii", "replace").strip()


def _vertex(path: str, header: Header) -> tuple[list[Element], Element]:
    """The elements before the vertices, and these."""
    names = [element.name for element in header.elements]
    if "vertex" not in names:
        raise ValueError(f"{path} has no element 'vertex', only {', '.join(names) or 'none'}")
    before, vertex = header.elements[: names.index("vertex")], header.elements[names.index("vertex")]
    lists = [element.name for element in (*before, vertex) if None in element.types]
    if lists and (header.order or vertex.name in lists):
        raise ValueError(f"{path} has lists in {', '.join(lists)}: the rows of its vertices cannot be found by number")
    return before, vertex


def _row(order: str, element: Element) -> np.dtype[Any]:
    return np.dtype([(name, order + kind) for name, kind in zip(element.names, element.types, strict=True)])


def _binary(path: str, header: Header, before: list[Element], vertex: Element, reading: columns.Reading) -> Source:
    parts, convert = columns.conversion(path, columns.parts_of(path, vertex.names), reading)
    row = _row(header.order, vertex)
    start = header.size + sum(part.rows * sum(np.dtype(kind).itemsize for kind in part.types) for part in before)
    there = max(0, os.path.getsize(path) - start) // row.itemsize
    if there < vertex.rows:
        raise ValueError(f"{path} is cut off: {there} of {vertex.rows} rows of {row.itemsize} bytes are there")

    def read(first: int, last: int) -> Parts:
        block = raw.records(path, row, last - first, start + first * row.itemsize)
        return columns.stacked(block.__getitem__, parts)

    return Source(vertex.rows, read, convert)


def _ascii(path: str, header: Header, before: list[Element], vertex: Element, reading: columns.Reading) -> Source:
    skipped = text.lines(path, header.size, None, most=sum(element.rows for element in before))
    found = text.lines(path, skipped.starts[-1], None, most=vertex.rows)
    if found.rows < vertex.rows:
        raise ValueError(f"{path} is cut off: {found.rows} of {vertex.rows} rows are there")
    return text.source(found, vertex.names, reading)
