"""Clouds in .npz archives. Arrays that are stored (`np.savez`) are read block by block; others are read whole."""

import math
import zipfile
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxkit.sampling import columns, raw
from jaxkit.sampling.rows import Parts, Source

LOCAL_HEADER, NAME_LENGTH = 30, 26


class Member(NamedTuple):
    """An array of an archive: `read(first, last)` yields rows of it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[int, int], np.ndarray]


def source(path: str, reading: columns.Reading) -> Source:
    """The rows of the arrays `center` and `semi_axes`, `radius` or `covariance`, `quaternion` or `rotation`.

    Raises:
      ValueError: if the archive is broken or its arrays do not make a cloud.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            parts, convert = columns.conversion(path, infos, reading)
            members = {name: _member(archive, infos[name]) for name in parts}
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{path} is no whole .npz archive: {error}") from error
    rows = _rows(path, members)

    def read(first: int, last: int) -> Parts:
        return {name: member.read(first, last) for name, member in members.items()}

    return Source(rows, read, convert)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    path = archive.filename
    with archive.open(info) as file:
        shape, fortran, dtype = _header(path, info, file)
        before = file.tell()
    if dtype.kind not in "fiu":
        raise ValueError(f"{path} holds {info.filename} of {dtype}, not of real numbers")
    if info.compress_type != zipfile.ZIP_STORED or fortran:
        return _whole(archive, info)
    if info.file_size < before + math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{path} holds {info.filename}, which is cut off before its shape {list(shape)} is full")
    return _stored(path, _data(path, info) + before, shape, dtype)


def _header(path: str, info: zipfile.ZipInfo, file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether the order is Fortran's, and dtype."""
    try:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(file)
        return np.lib.format.read_array_header_2_0(file)
    except ValueError as error:
        raise ValueError(f"{path} holds {info.filename}, which is no .npy file of numbers: {error}") from error


def _whole(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    with archive.open(info) as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
    return Member(array.shape, array.dtype, lambda first, last: array[first:last])


def _data(path: str, info: zipfile.ZipInfo) -> int:
    """Where the bytes of a stored member begin: after its local header, name and extra field."""
    with open(path, "rb") as file:
        file.seek(info.header_offset + NAME_LENGTH)
        return info.header_offset + LOCAL_HEADER + int(np.frombuffer(file.read(4), "<u2").sum())


def _stored(path: str, start: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Member:
    width = math.prod(shape[1:])

    def read(first: int, last: int) -> np.ndarray:
        offset = start + first * width * dtype.itemsize
        return raw.records(path, dtype, (last - first) * width, offset).reshape(last - first, *shape[1:])

    return Member(shape, dtype, read)


def _rows(path: str, members: dict[str, Member]) -> int:
    shapes = {name: member.shape for name, member in members.items()}
    for name, shape in shapes.items():
        if not shape or shape[1:] not in columns.SHAPES[name]:
            wanted = " or ".join(f"[{', '.join(map(str, ('N', *tail)))}]" for tail in columns.SHAPES[name])
            raise ValueError(f"{path} holds {name} of shape {list(shape)}, not {wanted}")
    if len({shape[0] for shape in shapes.values()}) > 1:
        raise ValueError(f"{path} holds arrays of different numbers of rows: {shapes}")
    return shapes["center"][0]
