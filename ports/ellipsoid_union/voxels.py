"""The obvious cure: fill a dense grid of voxels ellipsoid by ellipsoid, then draw from the voxels that are filled.

A voxel is filled if its centre lies in an ellipsoid. Points are uniform in the filled voxels, which is not the union.
"""

from typing import NamedTuple

import numpy as np

from . import slow


class Grid(NamedTuple):
    """`filled` `[X, Y, Z]` bool; voxel (i, j, k) spans `low + voxel * (i, j, k)` to `low + voxel * (i+1, j+1, k+1)`."""

    filled: np.ndarray
    low: np.ndarray
    voxel: float


def sample(
    rng: np.random.Generator,
    center: np.ndarray,
    semi_axes: np.ndarray,
    quaternion: np.ndarray,
    count: int,
    *,
    voxel: float,
) -> np.ndarray:
    """`count` points `[count, 3]`, uniform in the filled voxels."""
    grid = voxelize(center, semi_axes, quaternion, voxel=voxel)
    filled = np.argwhere(grid.filled)
    chosen = filled[rng.integers(0, len(filled), count)]
    return grid.low + grid.voxel * (chosen + rng.random((count, 3)))


def voxelize(center: np.ndarray, semi_axes: np.ndarray, quaternion: np.ndarray, *, voxel: float) -> Grid:
    """Fills every voxel whose centre lies in an ellipsoid."""
    center, semi_axes = center.astype(np.float64), semi_axes.astype(np.float64)
    rotation = slow.rotation_matrix(quaternion)
    low, high = slow.bounding_box(center, semi_axes, rotation)
    grid = Grid(np.zeros(np.ceil((high - low) / voxel).astype(int) + 1, bool), low, voxel)
    half = np.sqrt(((rotation * semi_axes[:, None, :]) ** 2).sum(2))
    first = np.ceil((center - half - low) / voxel - 0.5).astype(int)
    last = np.floor((center + half - low) / voxel - 0.5).astype(int)
    for index in range(len(center)):
        fill(grid, first[index], last[index], center[index], rotation[index] / semi_axes[index])
    return grid


def fill(grid: Grid, first: np.ndarray, last: np.ndarray, center: np.ndarray, whiten: np.ndarray) -> None:
    """Fills the voxels of one ellipsoid, which lie between `first` and `last` inclusive."""
    if (last < first).any():
        return
    x, y, z = (grid.low[i] + grid.voxel * (np.arange(first[i], last[i] + 1) + 0.5) - center[i] for i in range(3))
    terms = (x[:, None, None, None], y[None, :, None, None], z[None, None, :, None])
    along_axes = sum(term * row for term, row in zip(terms, whiten, strict=True))
    window = tuple(slice(a, b + 1) for a, b in zip(first, last, strict=True))
    grid.filled[window] |= (along_axes**2).sum(-1) <= 1
