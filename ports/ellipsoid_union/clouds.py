"""Made-up clouds: ellipsoids scattered through a cube, as dense as asked for."""

import math
from typing import NamedTuple

import numpy as np

SPREAD = 0.4


class Rows(NamedTuple):
    """A cloud as a file holds it, float32: centres `[N, 3]`, radii `[N, 3]`, quaternions `[N, 4]` (w, x, y, z)."""

    center: np.ndarray
    semi_axes: np.ndarray
    quaternion: np.ndarray


def scattered(count: int, *, cover: float = 1.3, decades: float = 0.0, seed: int = 0) -> Rows:
    """Ellipsoids of any direction, placed independently.

    Args:
      cover: mean number of bodies that cover a point of the union: `rho / (1 - exp(-rho))`, rho the volume of all
        bodies over that of the cube (the Boolean model), edges of the cube left aside.
      decades: 0 for log-normal axes around 1 (sigma 0.4); else sizes are log-uniform, from 10**-decades to 1.
    """
    rng = np.random.default_rng((seed, count))
    semi_axes = rng.standard_normal((count, 3), np.float32)
    semi_axes *= SPREAD
    np.exp(semi_axes, out=semi_axes)
    if decades:
        semi_axes *= (10.0 ** rng.uniform(-decades, 0.0, (count, 1))).astype(np.float32)
    edge = math.cbrt(volume(semi_axes) / density(cover))
    center = rng.random((count, 3), np.float32)
    center *= np.float32(edge)
    return Rows(center, semi_axes, directions(rng, count))


def volume(semi_axes: np.ndarray) -> float:
    """The sum of the volumes of all bodies, overlaps counted as often as they are covered."""
    return 4 / 3 * math.pi * float(semi_axes.prod(1, dtype=np.float64).sum())


def density(cover: float) -> float:
    """The rho with `rho / (1 - exp(-rho)) = cover`, by iteration."""
    if not cover > 1:
        raise ValueError(f"cover={cover}: a point of the union is covered by more than one body on average")
    rho = cover
    for _ in range(200):
        rho = cover * -math.expm1(-rho)
    return rho


def directions(rng: np.random.Generator, count: int) -> np.ndarray:
    """Unit quaternions `[count, 4]`, uniform over all rotations."""
    quaternion = rng.standard_normal((count, 4), np.float32)
    quaternion /= np.sqrt(np.einsum("ni,ni->n", quaternion, quaternion))[:, None]
    return quaternion


def lens() -> Rows:
    """Two unit balls at a distance of 1: their lens holds 5/27 of the union, each crescent 11/27."""
    return balls([[0, 0, 0], [1, 0, 0]], [1, 1])


def nested() -> Rows:
    """A ball of radius 1 in one of radius 2: an eighth of the union."""
    return balls([[0, 0, 0], [0.5, 0, 0]], [2, 1])


def crowd(count: int = 20) -> Rows:
    """Many times the same ball, and one apart from it: half of the union each."""
    return balls([[0, 0, 0]] * count + [[10, 0, 0]], [1] * (count + 1))


def balls(center: list, radius: list) -> Rows:
    center, radius = np.array(center, np.float32), np.array(radius, np.float32)
    upright = np.tile(np.float32([1, 0, 0, 0]), (len(radius), 1))
    return Rows(center, np.repeat(radius[:, None], 3, 1), upright)
