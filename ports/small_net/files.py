"""A folder of pictures as the network takes them, and a reason for each file that is no use."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageOps

from jaxkit.jobs.pictures import to_rgb

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".gif"})
SIDE = 224
SMALLEST = 32  # pixels: a picture that is blown up more than seven times shows nothing
KEPT = 512


class Skipped(NamedTuple):
    """A file that holds no usable picture, and why."""

    name: str
    reason: str


class Folder(NamedTuple):
    """What a folder held: pictures `[224, 224, 3]` uint8, and all that was skipped."""

    pictures: list[np.ndarray]
    skipped: list[Skipped]


def read_folder(folder: Path) -> Folder:
    """Reads every picture under a folder, in the order of their names; no more than the first 512 are kept.

    Raises:
      NotADirectoryError: `folder` is not a folder.
      ValueError: no picture could be read from it; the message names the files and the reasons.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder; --input takes a folder of pictures")
    found = Folder([], [])
    for path in sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and not path.is_dir()):
        picture = read_file(path, name=str(path.relative_to(folder)))
        if isinstance(picture, Skipped):
            found.skipped.append(picture)
        elif len(found.pictures) < KEPT:
            found.pictures.append(picture)
    if not found.pictures:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in found.skipped) or "it holds no image files"
        raise ValueError(f"no picture could be read from {folder} ({reasons})")
    return found


def read_file(path: Path, *, name: str) -> np.ndarray | Skipped:
    """The square in the middle of a picture, as `[224, 224, 3]` uint8."""
    try:
        with Image.open(path) as file:
            picture = to_rgb(file)
        if min(picture.size) < SMALLEST:
            return Skipped(name, f"{picture.width} x {picture.height} pixels, {SMALLEST} at least are needed")
        return np.asarray(ImageOps.fit(picture, (SIDE, SIDE), Image.Resampling.BICUBIC))
    except Exception as error:  # decoders raise anything, from struct.error to SyntaxError, on broken bytes
        empty = path.is_file() and path.stat().st_size == 0
        return Skipped(name, "the file is empty" if empty else f"{error}".replace(str(path), name))
