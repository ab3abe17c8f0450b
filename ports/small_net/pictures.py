"""The pictures of the port: crops of the photographs that come with scikit-image, or those of the user's folder."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from jaxkit.port import Request, Table

from .files import Folder, read_folder

# "cat" is "chelsea" once more: what a classifier of ImageNet knows best counts twice.
PHOTOGRAPHS = (
    "astronaut",
    "chelsea",
    "coffee",
    "rocket",
    "hubble_deep_field",
    "immunohistochemistry",
    "retina",
    "colorwheel",
    "cat",
)
CROPS, CALIBRATION = 24, 56  # of each photograph; of all crops
SIDE = 224


@cache
def crops() -> tuple[np.ndarray, np.ndarray]:
    """Squares of all photographs, shuffled: for calibration `[56, 224, 224, 3]`, for tests `[160, 224, 224, 3]`, uint8.

    The recipe and its seeds are those of the trials that the aims of this port come from.
    """
    rng = np.random.default_rng(0)
    cut = np.stack([crop(one, rng, whole=not i) for one in map(photograph, PHOTOGRAPHS) for i in range(CROPS)])
    order = np.random.default_rng(0).permutation(len(cut))
    return cut[order[:CALIBRATION]], cut[order[CALIBRATION:]]


def photograph(name: str) -> np.ndarray:
    """One of scikit-image's, `[H, W, 3]` uint8."""
    return np.asarray(getattr(scikit_image().data, name)()[..., :3])


def crop(picture: np.ndarray, rng: np.random.Generator, *, whole: bool) -> np.ndarray:
    """The square in the middle, or one of half to all of the shorter side anywhere, often mirrored: `[224, 224, 3]`."""
    height, width = picture.shape[:2]
    side = int(min(height, width) * (1.0 if whole else rng.uniform(0.5, 1.0)))
    spare = height - side, width - side
    top, left = (n // 2 if whole else int(rng.integers(0, n + 1)) for n in spare)
    square = picture[top : top + side, left : left + side]
    small = scikit_image().transform.resize(square, (SIDE, SIDE), anti_aliasing=True)
    mirrored = not whole and rng.random() < 0.5
    return np.rint(255 * (small[:, ::-1] if mirrored else small)).astype(np.uint8)


def scikit_image() -> Any:
    try:
        import skimage.transform
    except ImportError as error:
        raise ImportError("the photographs need the package scikit-image: pip install 'jaxkit[image]'") from error
    return skimage


def normalised(pictures: np.ndarray) -> np.ndarray:
    """`[N, H, W, 3]` uint8 as the weights want them: float32, `(value - 127) / 128`."""
    return (pictures.astype(np.float32) - 127) / 128


def calibration() -> np.ndarray:
    """What ranges are chosen by, `[56, 224, 224, 3]` float32: never the user's pictures, which are there to test."""
    return normalised(crops()[0])


@cache
def users(folder: Path) -> Folder:
    """What the user's folder held, read once."""
    return read_folder(folder)


def tests(request: Request) -> np.ndarray:
    """`[N, 224, 224, 3]` uint8: all of the user's pictures, or 160 crops; in a quick run 32."""
    if request.input is not None:
        return np.stack(users(request.input).pictures)[: 32 if request.quick else None]
    return crops()[1][:: 5 if request.quick else 1]


def some(count: int, request: Request) -> np.ndarray:
    """`[count, 224, 224, 3]` float32, spread over the tests; over and over where these are fewer."""
    pictures = tests(request)
    step = max(1, len(pictures) // count)
    return normalised(pictures[(request.seed + step * np.arange(count)) % len(pictures)])


def table(request: Request) -> Table:
    """What was read, the files that were skipped included."""
    if request.input is None:
        told = f"{len(tests(request))} crops of scikit-image's photographs, and {CALIBRATION} others to calibrate with"
        return Table("Input", ("file", "what became of it"), (("all", told),))
    read = users(request.input)
    rows = (("all", f"{len(read.pictures)} read, {len(read.skipped)} skipped"),)
    rows += tuple((name, f"skipped: {reason}") for name, reason in read.skipped)
    return Table("Input", ("file", "what became of it"), rows)
