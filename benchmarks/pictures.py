"""The batches that are measured: sizes and generated pictures."""

import math
from typing import NamedTuple

import numpy as np


class Size(NamedTuple):
    """A batch `[count, height, width, channels]`."""

    count: int
    height: int
    width: int
    channels: int
    dtype: str = "uint8"

    def __str__(self) -> str:
        return f"{self.count} x ({self.height} x {self.width} x {self.channels}) {self.dtype}"

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.count, self.height, self.width, self.channels


SIZES = {
    "lines": Size(64, 64, 512, 3),
    "grey": Size(64, 64, 512, 1),
    "photos": Size(32, 256, 256, 3),
    "float": Size(64, 64, 512, 3, "float32"),
}


def pictures(size: Size, *, seed: int = 0) -> np.ndarray:
    """Smooth waves `[B, H, W, C]` that fade to 0 at the edges of each picture.

    Libraries round coordinates differently, by up to 1/64 of a pixel. On these pictures that stays below one level,
    inside and at the border, so results can be compared before they are timed.
    """
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[: size.height, : size.width].astype(np.float32)
    fade = np.sin(math.pi * (y + 0.5) / size.height) * np.sin(math.pi * (x + 0.5) / size.width)
    waves = rng.uniform(0.02, 0.12, (2, size.count, 1, 1, size.channels)).astype(np.float32)
    across, down = (part[None, :, :, None] for part in (x, y))
    levels = 0.5 + 0.5 * np.sin(across * waves[0]) * np.cos(down * waves[1])
    levels = levels * fade[None, :, :, None]
    return levels.astype(np.float32) if size.dtype == "float32" else np.rint(255 * levels).astype(np.uint8)
