"""Reads of pixels as loops over them, in float64."""

import numpy as np


def source(index: int, length: int, border: str) -> int | None:
    """The pixel that a border rule shows at a whole position along one axis; None is the fill."""
    if 0 <= index < length:
        return index
    if border == "constant":
        return None
    if border == "edge":
        return min(max(index, 0), length - 1)
    if border == "wrap":
        return index % length
    if length == 1:
        return 0
    while not 0 <= index < length:
        first, last = (-1, 2 * length - 1) if border == "reflect" else (0, 2 * (length - 1))
        index = first - index if index < 0 else last - index
    return index


def tap(image: np.ndarray, row: int, column: int, border: str, fill: float) -> np.ndarray:
    """One pixel `[C]`."""
    row, column = source(row, image.shape[0], border), source(column, image.shape[1], border)
    if row is None or column is None:
        return np.full(image.shape[2:], float(fill))
    return np.asarray(image[row, column], np.float64)


def bilinear(image: np.ndarray, x: np.ndarray, y: np.ndarray, border: str, fill: float = 0.0) -> np.ndarray:
    """`image [H, W, C]` at places `x`, `y` `[H', W']`."""
    out = np.zeros((*x.shape, *image.shape[2:]))
    for place in np.ndindex(x.shape):
        left, top = int(np.floor(x[place])), int(np.floor(y[place]))
        right, lower = float(x[place]) - left, float(y[place]) - top
        for row, down in ((top, 1 - lower), (top + 1, lower)):
            for column, across in ((left, 1 - right), (left + 1, right)):
                out[place] += down * across * tap(image, row, column, border, fill)
    return out


def nearest(image: np.ndarray, x: np.ndarray, y: np.ndarray, border: str, fill: float = 0.0) -> np.ndarray:
    """The pixel whose square holds each place; ties go right and down."""
    out = np.zeros((*x.shape, *image.shape[2:]), image.dtype)
    for place in np.ndindex(x.shape):
        out[place] = tap(image, int(np.floor(y[place] + 0.5)), int(np.floor(x[place] + 0.5)), border, fill)
    return out
