"""Long and flat bodies in parts: the upright box of a needle is almost empty, the boxes of its pieces are not."""

import numpy as np

from jaxkit.sampling.levels import level_of

ELONGATED = 8.0
FEW = 64
"""Candidates below which a body is not worth parting."""
PARTS = 2**18
FINEST = -10
"""Lowest level of a grid for parts; they may be smaller than the smallest body is long."""


def is_elongated(semi_axes: np.ndarray) -> np.ndarray:
    """`[N]` bool: the largest of `[N, 3]` radii is more than eight times the smallest."""
    x, y, z = np.asarray(semi_axes, np.float32).T
    return np.maximum(np.maximum(x, y), z) > ELONGATED * np.minimum(np.minimum(x, y), z)


def cuts(semi_axes: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Into how many parts each axis is cut, `[N, 3]` int64.

    n cuts of a needle's c candidates leave c / n^2, of both axes of a flake c / n; a part costs as much as several
    tests. Both balance near the cube root of c. No part is shorter than the body is thin.

    Args:
      semi_axes: `[N, 3]` radii, all positive.
      candidates: `[N]` points that the whole body would be tested against.
    """
    longest = np.asarray(semi_axes, np.float64).max(1)
    edge = np.maximum(longest / np.maximum(np.cbrt(candidates / 8.0), 1.0), np.min(semi_axes, axis=1))
    return np.ceil(semi_axes / edge[:, None] * (1 - 1e-9)).astype(np.int64)


def pieces(semi_axes: np.ndarray, down: int) -> np.ndarray:
    """Into how many parts each axis is cut, `[N, 3]` int64, so that all parts are at least `down` levels smaller."""
    axes = np.asarray(semi_axes, np.float64)
    return np.ceil(axes / axes.max(1, keepdims=True) * 2.0 ** (down + 1)).astype(np.int64)


def sizes_of_parts(semi_axes: np.ndarray, counts: np.ndarray, step: float) -> np.ndarray:
    """The levels of inner parts, int32 `[N]`, as `part_levels`."""
    return part_levels(semi_axes, -1.0 / counts, 1.0 / counts, step)


def part(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All parts of bodies that are cut into `counts` `[N, 3]`: the body of each part and its limits.

    The limits are in the body's own axes, in units of its radii, `[P, 3]` float32. Neighbours share a limit and the
    outermost have none, so every place lies in exactly one part. Parts outside of the ellipsoid are left out.
    """
    each = counts.prod(1)
    body = np.repeat(np.arange(len(counts)), each)
    number = np.arange(len(body)) - np.repeat(np.cumsum(each) - each, each)
    index = np.stack([number % counts[body, 0], number // counts[body, 0] % counts[body, 1], number], 1)
    index[:, 2] //= counts[body, 0] * counts[body, 1]
    low, high = (_limit(index + more, counts[body]) for more in (0, 1))
    nearest = np.maximum(np.maximum(low, -high), 0.0)
    real = (nearest * nearest).sum(1) < 1.0001
    return body[real], low[real], high[real]


def part_levels(semi_axes: np.ndarray, low: np.ndarray, high: np.ndarray, step: float) -> np.ndarray:
    """The levels of grids for parts, int32 `[P]`: of the balls around them, whatever their rotation."""
    half = (np.clip(high, -1, 1) - np.clip(low, -1, 1)) / 2 * semi_axes.astype(np.float64)
    radius = np.sqrt((half * half).sum(1)) + 2.0**-16 * semi_axes.max(1) + 2.0**-18 * step
    return level_of((2.0 / step * radius).astype(np.float32), lowest=FINEST)


def _limit(index: np.ndarray, counts: np.ndarray) -> np.ndarray:
    inner = (2.0 * index / counts - 1.0).astype(np.float32)
    return np.where(index == 0, np.float32(-np.inf), np.where(index == counts, np.float32(np.inf), inner))
