"""Inputs for a network from the files of a folder: arrays as they are, pictures made to fit."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxkit.jobs.factory import read_arrays
from jaxkit.jobs.pictures import to_rgb

ARRAYS = (".npy", ".npz")
PICTURES = (".png", ".jpg", ".jpeg")
Listen = Callable[[str, int, int], None]


class Preparation(NamedTuple):
    """What is done to a picture.

    It is turned as its EXIF says, made RGB over white (or gray, if the network takes one channel), with 16 bits scaled
    to 8 instead of cut off, resized by Pillow's bicubic filter so that it just covers the size of the network, cut to
    that around its centre, and scaled to [0, 1]. Then `preprocess` has it; or `(picture - mean) / std`, by channel.

    Attributes:
      shape: `(height, width, channels)` of the network's input.
      mean, std: one number, or one for each channel.
      preprocess: of float32 `[height, width, channels]` in [0, 1].
    """

    shape: tuple[int, ...]
    mean: Sequence[float] = (0.0,)
    std: Sequence[float] = (1.0,)
    preprocess: Callable[[np.ndarray], Any] | None = None


class Examples(NamedTuple):
    """What was read.

    Attributes:
      inputs: float32 `[n, *shape]`.
      labels: int64 `[n]`; None without labels.
      skipped: a file and the reason why it is left out, for each such.
      files: how many were read.
    """

    inputs: np.ndarray
    labels: np.ndarray | None
    skipped: tuple[tuple[Path, str], ...]
    files: int


def read_examples(
    folder: Path, how: Preparation, *, most: int, labels: Path | None = None, listen: Listen | None = None
) -> Examples:
    """Reads the inputs in a folder and the folders in it.

    A `.npy` holds one input or `[n, *shape]` of them, float32 and prepared. A `.npz` holds such as `inputs`, and may
    hold `labels` `[n]`. Of more than `most` files, as many are taken at even distances in the order of their names.

    Args:
      folder: where they are.
      how: pictures are made to fit.
      most: examples.
      labels: a CSV file with a line `name of the file,integer` for each picture or array.
      listen: told `(stage, done, total)`.

    Raises:
      ValueError: if not one file is good, with the reasons; or a good one has no label.
      OSError: if the folder or the labels cannot be read.
    """
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in ARRAYS + PICTURES)
    if not files:
        raise ValueError(f"{folder} has no {', '.join(ARRAYS + PICTURES)}")
    chosen = [files[i] for i in np.unique(np.linspace(0, len(files) - 1, min(most, len(files))).astype(int))]
    known = None if labels is None else read_labels(labels)
    inputs: list[np.ndarray] = []
    right: list[np.ndarray] = []
    skipped: list[tuple[Path, str]] = []
    for number, path in enumerate(chosen):
        if listen is not None:
            listen("reading examples", number, len(chosen))
        try:
            x, own = read_file(path, how)
        except Exception as error:  # Decoders fail in many ways; a bad file is no reason to stop.
            skipped.append((path, " ".join(str(error).split()) or type(error).__name__))
            continue
        inputs.append(x)
        right.append(_labels(path, own, len(x), known))
    return _joined(folder, inputs, right, skipped, most)


def read_file(path: Path, how: Preparation) -> tuple[np.ndarray, np.ndarray | None]:
    """The inputs of one file `[n, *shape]`, and their labels if it holds such.

    Raises:
      ValueError, OSError: if it cannot be used.
    """
    if path.suffix.lower() in PICTURES:
        return read_picture(path, how)[None], None
    held = read_arrays(path) if path.suffix.lower() == ".npz" else {"inputs": np.load(path, allow_pickle=False)}
    if "inputs" not in held:
        raise ValueError(f"holds {', '.join(held) or 'nothing'}, and no array 'inputs'")
    x = held["inputs"]
    x = x[None] if x.shape == how.shape else x
    if x.shape[1:] != how.shape or x.dtype != np.float32 or not len(x):
        raise ValueError(f"is {x.dtype} {list(x.shape)}, not float32 [n, {', '.join(map(str, how.shape))}]")
    if not np.isfinite(x).all():
        raise ValueError("holds values that are not finite")
    return x, held.get("labels")


def read_picture(path: Path, how: Preparation) -> np.ndarray:
    """A picture made to fit, float32 of the shape of the network's input; see `Preparation`.

    Raises:
      ValueError: if the network takes no pictures, or `preprocess` makes another shape.
      OSError: if it cannot be decoded.
    """
    from PIL import Image, ImageOps

    if len(how.shape) != 3 or how.shape[-1] not in (1, 3):
        raise ValueError(f"the network takes {how.shape}, which is no picture; give arrays")
    height, width, channels = how.shape
    with Image.open(path) as file:
        picture = to_rgb(file).convert("RGB" if channels == 3 else "L")
    picture = ImageOps.fit(picture, (width, height), method=Image.Resampling.BICUBIC)
    x = np.asarray(picture, np.float32).reshape(how.shape) / np.float32(255)
    if how.preprocess is not None:
        x = np.asarray(how.preprocess(x), np.float32)
    else:
        x = (x - np.asarray(how.mean, np.float32)) / np.asarray(how.std, np.float32)
    if x.shape != how.shape or not np.isfinite(x).all():
        raise ValueError(f"preprocess made {list(x.shape)}, or values that are not finite; wanted {list(how.shape)}")
    return x


def read_labels(path: Path) -> dict[str, int]:
    """Labels by the names of files, from a CSV file.

    Raises:
      ValueError: if a line is not `name,integer`.
      OSError: if it cannot be read.
    """
    found = {}
    with path.open(newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            if len(row) != 2 or not row[1].strip().lstrip("-").isdigit():
                raise ValueError(f"line {number} of {path} must be the name of a file and an integer, got {row}")
            found[row[0].strip()] = int(row[1])
    return found


def _labels(path: Path, own: np.ndarray | None, count: int, known: dict[str, int] | None) -> np.ndarray:
    """Of the examples of one file; empty if there are none."""
    if own is not None:
        if own.shape != (count,) or not np.issubdtype(own.dtype, np.integer):
            raise ValueError(f"{path} holds labels of {own.dtype} {list(own.shape)} for {count} examples")
        return own.astype(np.int64)
    if known is None:
        return np.zeros(0, np.int64)
    if path.name not in known:
        raise ValueError(f"{path.name} has no label")
    return np.full(count, known[path.name], np.int64)


def _joined(folder: Path, inputs: list, right: list, skipped: list, most: int) -> Examples:
    if not inputs:
        reasons = "\n".join(f"  {path.name}: {reason}" for path, reason in skipped)
        raise ValueError(f"no file of {folder} can be used:\n{reasons}")
    x, labels = np.concatenate(inputs)[:most], np.concatenate(right)[:most]
    if len(labels) not in (0, len(x)):
        raise ValueError(f"{len(labels)} of {len(x)} examples have labels; give all of them, or none")
    return Examples(x, labels if len(labels) else None, tuple(skipped), len(inputs))
