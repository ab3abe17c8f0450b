"""Filters as loops over pixels, in float64."""

import numpy as np

from tests.reference.reading import source


def gaussian(image: np.ndarray, sigma: float, radius: int) -> np.ndarray:
    """`[H, W, C]` smoothed along both axes by a kernel of `2 * radius + 1` taps; borders mirror about edge pixels."""
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    weights /= weights.sum()
    out = np.asarray(image, np.float64)
    for axis in (0, 1):
        moved = np.moveaxis(out, axis, 0)
        smooth = np.zeros_like(moved)
        for place in range(len(moved)):
            for step, weight in zip(range(-radius, radius + 1), weights, strict=True):
                smooth[place] += weight * moved[source(place + step, len(moved), "reflect101")]
        out = np.moveaxis(smooth, 0, axis)
    return out


def extreme(image: np.ndarray, choose) -> np.ndarray:
    """The least (or greatest: `choose` is `min` or `max`) of the 3 x 3 neighbours inside the picture."""
    out = np.zeros_like(image)
    height, width, channels = image.shape
    for row, column, channel in np.ndindex(image.shape):
        near = [(r, c) for r in range(row - 1, row + 2) for c in range(column - 1, column + 2)]
        out[row, column, channel] = choose(image[r, c, channel] for r, c in near if 0 <= r < height and 0 <= c < width)
    return out


def stroke(image: np.ndarray, growth: float, dark: bool) -> np.ndarray:
    """Strokes thickened by `growth` pixels on each side: whole steps in full, the last one blended by the rest."""
    out, choose = np.asarray(image, np.float64), min if (growth > 0) == dark else max
    left = abs(growth)
    while left > 0:
        share = min(left, 1.0)
        out, left = out + share * (extreme(out, choose) - out), left - 1
    return out
