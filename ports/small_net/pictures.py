"""The pictures of the port: crops of the photographs that come with scikit-image, or those of the user's folder."""

from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from jaxkit.port import Request, Table

from .files import Folder, read_folder

PHOTOGRAPHS = (
    "astronaut",
    "chelsea",
    "coffee",
    "rocket",
    "hubble_deep_field",
    "immunohistochemistry",
    "retina",
    "colorwheel",
)
CROPS, CALIBRATION = 27, 7  # of each photograph; the first ones calibrate
SIDE = 224
SEED = 0


@cache
def crops() -> tuple[np.ndarray, np.ndarray]:
    """Random squares of all photographs: for calibration `[56, 224, 224, 3]`, for tests `[160, 224, 224, 3]`, uint8."""
    rng, photographs = np.random.default_rng(SEED), [photograph(name) for name in PHOTOGRAPHS]
    cut = np.stack([[crop(photograph, rng) for _ in range(CROPS)] for photograph in photographs])
    return tuple(part.reshape(-1, SIDE, SIDE, 3) for part in np.split(cut, [CALIBRATION], axis=1))


def photograph(name: str) -> Image.Image:
    try:
        from skimage import data
    except ImportError as error:
        raise ImportError("the photographs need the package scikit-image: pip install 'jaxkit[image]'") from error
    return Image.fromarray(getattr(data, name)()).convert("RGB")


def crop(photograph: Image.Image, rng: np.random.Generator) -> np.ndarray:
    """A square of half to all of the shorter side, anywhere, as `[224, 224, 3]` uint8."""
    side = int(min(photograph.size) * rng.uniform(0.5, 1.0))
    left, top = (int(rng.integers(0, size - side + 1)) for size in photograph.size)
    box = (left, top, left + side, top + side)
    return np.asarray(photograph.resize((SIDE, SIDE), Image.Resampling.BICUBIC, box))


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
        note = f"{len(PHOTOGRAPHS)} photographs of scikit-image; {CALIBRATION} crops of each calibrate"
        return Table("Input", ("file", "what became of it"), (("all", f"{len(tests(request))} crops of {note}"),))
    read = users(request.input)
    rows = (("all", f"{len(read.pictures)} read, {len(read.skipped)} skipped"),)
    rows += tuple((name, f"skipped: {reason}") for name, reason in read.skipped)
    return Table("Input", ("file", "what became of it"), rows)
