"""Rows of a cloud from what users hold: axes and rotations, covariances, Gaussian splats. Host side, in float64."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Parts = dict[str, np.ndarray]

SKEW = 1e-3
ASYMMETRY = 1e-5
ROUNDING = 1e-14
UPPER = ((0, 1, 2), (1, 3, 4), (2, 4, 5))


class Rows(NamedTuple):
    """A block of rows, not yet judged.

    Attributes:
      center: `[n, 3]` float64, world coordinates.
      semi_axes: `[n, 3]` float64.
      quaternion: `[n, 4]` float64 (w, x, y, z), of any length.
      faults: what the conversion noticed: reason to `[n]` bool.
      faint: `[n]` bool, the rows that the user asked to leave out; None: no row.
    """

    center: np.ndarray
    semi_axes: np.ndarray
    quaternion: np.ndarray
    faults: dict[str, np.ndarray]
    faint: np.ndarray | None = None


class Source(NamedTuple):
    """Where the rows of a cloud come from.

    Attributes:
      rows: how many there are.
      parts: `parts(first, last)`: the named arrays of these rows, as they are stored.
      convert: the same as `Rows`.
    """

    rows: int
    parts: Callable[[int, int], Parts]
    convert: Callable[[Parts], Rows]

    def read(self, first: int, last: int) -> Rows:
        """The rows from `first` to before `last`."""
        return self.convert(self.parts(first, last))


def of_arrays(arrays: Parts, convert: Callable[[Parts], Rows]) -> Source:
    """Arrays in memory that share their first axis, as a source."""
    rows = len(arrays["center"])
    return Source(rows, lambda first, last: {name: part[first:last] for name, part in arrays.items()}, convert)


def from_axes(parts: Parts, *, scale: float = 1.0, order: str = "wxyz") -> Rows:
    """Rows of `center`, `semi_axes` `[n, 3]` or `radius` `[n]`, and `quaternion`, `rotation` or neither."""
    center = np.array(parts["center"], np.float64)
    semi_axes = _radii(parts) * scale
    faults = _unreadable(parts)
    if "rotation" in parts:
        quaternion, found = _turned(np.array(parts["rotation"], np.float64))
        return Rows(center, semi_axes, quaternion, faults | found)
    return Rows(center, semi_axes, _quaternion(parts, order), faults)


def _radii(parts: Parts) -> np.ndarray:
    if "radius" in parts:
        return np.repeat(np.array(parts["radius"], np.float64).reshape(-1, 1), 3, 1)
    return np.array(parts["semi_axes"], np.float64)


def _quaternion(parts: Parts, order: str) -> np.ndarray:
    if "quaternion" not in parts:
        return np.tile(np.float64([1, 0, 0, 0]), (len(parts["center"]), 1))
    given = np.array(parts["quaternion"], np.float64)
    return np.roll(given, 1, 1) if order == "xyzw" else given


def from_covariance(parts: Parts, *, k: float = 1.0) -> Rows:
    """Rows of `center` and `covariance` `[n, 3, 3]` or `[n, 6]`: the places within k standard deviations."""
    given = np.array(parts["covariance"], np.float64)
    matrix = given if given.ndim == 3 else given[:, UPPER]
    matrix, faults = _without_gaps(matrix)
    size = np.abs(matrix).max((1, 2))
    faults["not symmetric"] = np.abs(matrix - matrix.transpose(0, 2, 1)).max((1, 2)) > ASYMMETRY * size
    values, vectors = np.linalg.eigh((matrix + matrix.transpose(0, 2, 1)) / 2)
    values[np.abs(values) <= ROUNDING * size[:, None]] = 0.0
    faults["not positive semidefinite"] = values[:, 0] < 0
    semi_axes = k * np.sqrt(np.maximum(values, 0.0))
    return Rows(np.array(parts["center"], np.float64), semi_axes, quaternion_of(vectors), _unreadable(parts) | faults)


def from_splats(
    parts: Parts, *, k_sigma: float | None, iso_opacity: float | None, min_opacity: float, scale: float = 1.0
) -> Rows:
    """Rows of `center`, `log_scale` `[n, 3]`, `rot` `[n, 4]` (w, x, y, z) and, where it is needed, `opacity` (logit).

    The level set `opacity * exp(-m^2 / 2) = iso_opacity` of a splat is the ellipsoid of Mahalanobis radius
    `m = sqrt(2 log(opacity / iso_opacity))` (Kerbl et al. 2023, equation 4).
    """
    faults = _unreadable(parts)
    with np.errstate(over="ignore"):
        semi_axes = np.exp(np.array(parts["log_scale"], np.float64)) * scale
        opacity = 1 / (1 + np.exp(-np.array(parts["opacity"], np.float64).reshape(-1))) if "opacity" in parts else None
    faint = np.zeros(len(semi_axes), bool) if opacity is None else opacity < min_opacity
    if iso_opacity is not None:
        faint |= opacity <= iso_opacity
        reach = np.sqrt(2 * np.log(np.where(faint, np.e, opacity / iso_opacity)))
    else:
        reach = np.full(len(semi_axes), k_sigma)
    if opacity is not None:
        faults["NaN"] = np.isnan(opacity)
    center, rot = np.array(parts["center"], np.float64), np.array(parts["rot"], np.float64)
    return Rows(center, semi_axes * reach[:, None], rot, faults, faint)


def _unreadable(parts: Parts) -> dict[str, np.ndarray]:
    return {"unreadable": parts["unreadable"]} if "unreadable" in parts else {}


def _without_gaps(matrix: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    """Matrices with unit matrices in place of those that hold a NaN or an infinity, and which these are."""
    nan, infinite = np.isnan(matrix).any((1, 2)), np.isinf(matrix).any((1, 2))
    whole = np.where((nan | infinite)[:, None, None], np.eye(3), matrix)
    return whole, {"NaN": nan, "infinite": infinite}


def _turned(matrix: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    matrix, faults = _without_gaps(matrix)
    m = np.ascontiguousarray(matrix.transpose(1, 2, 0))
    skew = [np.abs(sum(m[row, i] * m[row, j] for row in range(3)) - (i == j)) for i in range(3) for j in range(i, 3)]
    faults["not a rotation"] = np.max(skew, 0) > SKEW
    return quaternion_of(matrix), faults


def quaternion_of(matrix: np.ndarray) -> np.ndarray:
    """Quaternions `[n, 4]` (w, x, y, z) of orthogonal matrices `[n, 3, 3]`, not yet of unit length.

    A reflection stands for the rotation that mirrors it through the centre: the same ellipsoid. The row of the largest
    of the four components is taken, so that nothing cancels (Shepperd 1978).
    """
    m = np.ascontiguousarray(matrix.transpose(1, 2, 0))
    m *= np.where(_determinant(m) < 0, -1.0, 1.0)
    wx, wy, wz = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    xy, xz, yz = m[1, 0] + m[0, 1], m[0, 2] + m[2, 0], m[2, 1] + m[1, 2]
    ww = 1 + m[0, 0] + m[1, 1] + m[2, 2]
    xx, yy, zz = (1 + 2 * m[axis, axis] - (ww - 1) for axis in range(3))
    table = np.array([[ww, wx, wy, wz], [wx, xx, xy, xz], [wy, xy, yy, yz], [wz, xz, yz, zz]])
    largest = np.argmax([ww, xx, yy, zz], 0)
    return table[largest, :, np.arange(len(largest))]


def _determinant(m: np.ndarray) -> np.ndarray:
    """Of matrices `[3, 3, n]`."""
    minors = [m[1, (i + 1) % 3] * m[2, (i + 2) % 3] - m[1, (i + 2) % 3] * m[2, (i + 1) % 3] for i in range(3)]
    return sum(m[0, i] * minors[i] for i in range(3))
