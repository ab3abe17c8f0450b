"""Points into files."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np

BLOCK = 2**16
HEADER = (
    "ply\nformat binary_little_endian 1.0\nelement vertex {rows}\n"
    "property double x\nproperty double y\nproperty double z\n{source}end_header\n"
)


def write_points(path: str | os.PathLike, points: np.ndarray, *, source: np.ndarray | None = None) -> None:
    """Writes points, and the numbers of the bodies that they come from.

    `.npy` holds the points alone, float64 `[n, 3]`; `.npz` arrays `points` and `source`; `.ply` binary little-endian
    doubles x, y, z and int source; `.csv` columns x, y, z, source with all digits. Those but `.npy` may lack `source`.

    Args:
      path: the file; it is replaced if it is there.
      points: `[n, 3]`, written as float64.
      source: `[n]` integers, or None.

    Raises:
      ValueError: for another suffix, for shapes that do not fit, and for `source` with `.npy`.
    """
    kind = Path(path).suffix.lower()
    if kind not in WRITERS:
        raise ValueError(f"{path} must be one of {', '.join(WRITERS)}, not {kind or 'without a suffix'}")
    points = np.asarray(points, np.float64)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"points must be [n, 3], not {list(points.shape)}")
    if source is not None:
        source = _numbers(source, len(points))
        if kind == ".npy":
            raise ValueError(f"{path} can hold the points alone; write .npz, .ply or .csv to keep their source")
    with open(path, "wb") as file:
        WRITERS[kind](file, points, source)


def _numbers(source: np.ndarray, rows: int) -> np.ndarray:
    source = np.asarray(source)
    if source.shape != (rows,) or source.dtype.kind not in "iu":
        raise ValueError(f"source must be [{rows}] integers, not {list(source.shape)} of {source.dtype}")
    return source.astype(np.int32)


def _npy(file: BinaryIO, points: np.ndarray, source: None) -> None:
    np.save(file, points)


def _npz(file: BinaryIO, points: np.ndarray, source: np.ndarray | None) -> None:
    np.savez(file, points=points, **({} if source is None else {"source": source}))


def _ply(file: BinaryIO, points: np.ndarray, source: np.ndarray | None) -> None:
    named = "" if source is None else "property int source\n"
    file.write(HEADER.format(rows=len(points), source=named).encode())
    fields = [("point", "<f8", 3)] + ([] if source is None else [("source", "<i4")])
    for start in range(0, len(points), BLOCK):
        block = np.empty(len(points[start : start + BLOCK]), fields)
        block["point"] = points[start : start + BLOCK]
        if source is not None:
            block["source"] = source[start : start + BLOCK]
        file.write(block.tobytes())


def _csv(file: BinaryIO, points: np.ndarray, source: np.ndarray | None) -> None:
    file.write(b"x,y,z\n" if source is None else b"x,y,z,source\n")
    line = "%r,%r,%r\n" if source is None else "%r,%r,%r,%d\n"
    for start in range(0, len(points), BLOCK):
        columns = points[start : start + BLOCK].T.tolist()
        columns += [] if source is None else [source[start : start + BLOCK].tolist()]
        numbers = tuple(itertools.chain.from_iterable(zip(*columns, strict=True)))
        file.write((line * len(columns[0]) % numbers).encode())


WRITERS: dict[str, Callable[[BinaryIO, np.ndarray, np.ndarray | None], None]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".ply": _ply,
    ".csv": _csv,
}
