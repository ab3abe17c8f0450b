"""Crops of photographs that scikit-image's wheel holds."""

import numpy as np
from PIL import Image
from skimage import data

NAMES = (
    "astronaut",
    "chelsea",
    "coffee",
    "rocket",
    "hubble_deep_field",
    "immunohistochemistry",
    "retina",
    "colorwheel",
)
CROPS, CALIBRATION, SIDE = 27, 7, 224


def pictures() -> tuple[np.ndarray, np.ndarray]:
    """For calibration `[56, 224, 224, 3]` and for tests `[160, 224, 224, 3]`, float32, `(value - 127) / 128`."""
    rng = np.random.default_rng(0)
    crops = np.stack(
        [np.stack([crop(Image.fromarray(getattr(data, n)()).convert("RGB"), rng) for _ in range(CROPS)]) for n in NAMES]
    )
    kept = crops[:, :CALIBRATION].reshape(-1, SIDE, SIDE, 3), crops[:, CALIBRATION:].reshape(-1, SIDE, SIDE, 3)
    return tuple((part.astype(np.float32) - 127) / 128 for part in kept)


def crop(picture: Image.Image, rng: np.random.Generator) -> np.ndarray:
    side = int(min(picture.size) * rng.uniform(0.5, 1.0))
    x, y = (int(rng.integers(0, size - side + 1)) for size in picture.size)
    return np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BICUBIC, (x, y, x + side, y + side)))
