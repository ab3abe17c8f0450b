"""How wrong voxels are: the voxel size for a given error, and the errors that it leaves."""

import math
from typing import NamedTuple

import numpy as np

from . import slow, voxels
from .clouds import Rows

BODIES = 400
POINTS = 4000
RADII = 2.3


class Errors(NamedTuple):
    """Shares, with the centre rule.

    Attributes:
      body: how far the filled volume of a single body is from its true volume, in the mean over volume.
      outside: of points that are uniform in the filled voxels, those that lie in no ellipsoid.
      missed: of the union, what lies in no filled voxel.
      lost: of the bodies, those that fill no voxel.
    """

    body: float
    outside: float
    missed: float
    lost: float


def voxel_size(semi_axes: np.ndarray, error: float = 0.01) -> float:
    """The voxel at which the filled volume of a body is wrong by `error`, in the mean over volume.

    The number of grid points in a smooth body misses its volume by about the root of its surface (Kendall 1948), so
    the relative error grows with the square of the voxel over the radius. `RADII` was measured on log-normal axes.
    """
    radius = np.cbrt(semi_axes.prod(1, dtype=np.float64))
    return RADII * math.sqrt(error * (radius**3).sum() / radius.sum())


def errors(rows: Rows, voxel: float, *, seed: int = 0) -> Errors:
    """Measured on some bodies, each alone on a grid at a random place: an upper bound where bodies overlap."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(rows.center))[:BODIES]
    semi_axes = rows.semi_axes[chosen].astype(np.float64)
    rotation = slow.rotation_matrix(rows.quaternion[chosen])
    found = [of_body(rng, *body, voxel) for body in zip(semi_axes, rotation, strict=True)]
    true, filled, outside, missed = np.array(found).T
    return Errors(
        float(np.abs(filled - true).sum() / true.sum()),
        float(outside.sum() / max(filled.sum(), 1e-300)),
        float(missed.sum() / true.sum()),
        float((filled == 0).mean()),
    )


def of_body(rng: np.random.Generator, semi_axes: np.ndarray, rotation: np.ndarray, voxel: float) -> tuple[float, ...]:
    """Volumes of one body around 0: true, filled, filled but outside, inside but not filled."""
    whiten = rotation / semi_axes
    half = np.sqrt(((rotation * semi_axes) ** 2).sum(1))
    low = -half - voxel * (1 + rng.random(3))
    grid = voxels.Grid(np.zeros(np.ceil(2 * half / voxel).astype(int) + 3, bool), low, voxel)
    voxels.fill(grid, np.zeros(3, int), np.array(grid.filled.shape) - 1, np.zeros(3), whiten)
    filled = np.argwhere(grid.filled)
    volume = len(filled) * voxel**3
    thrown = filled[rng.integers(0, len(filled), POINTS)] if len(filled) else np.empty((0, 3))
    thrown = low + voxel * (thrown + rng.random(thrown.shape))
    outside = (((thrown @ whiten) ** 2).sum(1) > 1).mean() if len(filled) else 0.0
    inside = ball(rng, POINTS) * semi_axes @ rotation.T
    missed = ~grid.filled[tuple(np.floor((inside - low) / voxel).astype(int).T)]
    true = 4 / 3 * math.pi * semi_axes.prod()
    return true, volume, volume * outside, true * missed.mean()


def ball(rng: np.random.Generator, count: int) -> np.ndarray:
    """Uniform points `[count, 3]` of the unit ball."""
    direction = rng.standard_normal((count, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return direction * np.cbrt(rng.random((count, 1)))
