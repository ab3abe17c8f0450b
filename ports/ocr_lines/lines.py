"""Text lines as the port reads them: folders of any images, brought to one height and padded on the host."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from jaxkit import Sample
from jaxkit.interop import bucket_of, buckets, stack
from jaxkit.jobs.pictures import to_rgb

HEIGHT = 64
WIDTH = 512
LONGEST = 4096
PAPER = 255
KEPT = 256
SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp"})


class Line(NamedTuple):
    """One text line: `image` is RGB `[h, w, 3]` uint8; `text` is None where the transcription is not known."""

    name: str
    image: np.ndarray
    text: str | None = None


class Skipped(NamedTuple):
    """A file, or a page of a file, that holds no usable line, and why."""

    name: str
    reason: str


class Folder(NamedTuple):
    """What a folder held: `count` lines, the first of them in `lines`, and all that was skipped."""

    lines: list[Line]
    skipped: list[Skipped]
    count: int


def read_folder(folder: Path, *, keep: int = KEPT) -> Folder:
    """Reads every image under `folder`, each page of a TIFF as a line of its own, scaled to the common height.

    Grey, RGB, palette, 1 bit, 16 bit, CMYK and float images in [0, 1] become RGB uint8; transparency lies on white.
    A file that cannot be read is not an error of the run: it comes back as `Skipped` with its reason.

    Args:
      keep: how many lines stay in memory; the rest is read for its faults only.

    Raises:
      NotADirectoryError: `folder` is not a folder.
      ValueError: no line could be read from it; the message names the files and the reasons.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder; --input takes a folder of line images")
    found = Folder([], [], 0)
    for item in scan(folder):
        found = found._replace(count=found.count + isinstance(item, Line))
        if isinstance(item, Skipped):
            found.skipped.append(item)
        elif len(found.lines) < keep:
            found.lines.append(item)
    if not found.lines:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in found.skipped) or "it holds no image files"
        raise ValueError(f"no text line could be read from {folder} ({reasons})")
    return found


def scan(folder: Path) -> Iterator[Line | Skipped]:
    """Every image file under a folder, in the order of their names."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and not path.is_dir())
    return (item for path in files for item in read_file(path, name=str(path.relative_to(folder))))


def read_file(path: Path, *, name: str | None = None) -> Iterator[Line | Skipped]:
    """Yields the lines of one image file; pages before a broken one are kept."""
    name = name or path.name
    page = 0
    try:
        with Image.open(path) as file:
            pages = getattr(file, "n_frames", 1) if file.format == "TIFF" else 1
            for page in range(pages):
                file.seek(page)
                yield Line(page_name(name, page, pages), to_height(to_rgb(file)))
    except Exception as error:  # decoders raise anything, from struct.error to SyntaxError, on broken bytes
        empty = path.is_file() and path.stat().st_size == 0
        reason = "the file is empty" if empty else f"{error}".replace(str(path), name) or type(error).__name__
        yield Skipped(name if page == 0 else page_name(name, page, page + 1), reason)


def page_name(name: str, page: int, pages: int) -> str:
    return name if pages == 1 else f"{name}#{page + 1}"


def to_height(image: Image.Image, *, longest: int = LONGEST) -> np.ndarray:
    """`[64, w, 3]` uint8 of the same proportions; a line that would be wider than `longest` becomes lower instead."""
    width, height = image.size
    scale = min(HEIGHT / height, longest / width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(image if size == image.size else image.resize(size, Image.Resampling.BICUBIC))


def by_width(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines in groups that are padded to one width each: up to 512, and two groups of longer ones."""
    longer = [line.image.shape[1] for line in lines if line.image.shape[1] > WIDTH]
    edges = (WIDTH, *(buckets(longer, 2) if longer else ()))
    groups = {edge: [line for line in lines if bucket_of(line.image.shape[1], edges) == edge] for edge in edges}
    return [group for group in groups.values() if group]


def batch_of(lines: Sequence[Line]) -> Sample:
    """Padded on the host with white to 64 x 512, or wider where a line needs it."""
    width = max(WIDTH, *(line.image.shape[1] for line in lines))
    return stack([line.image for line in lines], size=(HEIGHT, width), fill=PAPER)
