"""Checks what users pass to the makers of clouds: shapes of arrays, and settings."""

import functools
import math
from collections.abc import Callable

import numpy as np

from jaxkit.sampling.rows import Parts, Rows, from_axes, from_covariance, from_splats

ORDERS = ("wxyz", "xyzw")


def _numbers(name: str, value: np.ndarray, *shapes: tuple[int, ...]) -> np.ndarray:
    """`value` as an array of real numbers whose trailing shape is one of `shapes`."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} must hold real numbers, not {array.dtype}")
    if array.ndim < 1 or array.shape[1:] not in shapes:
        wanted = " or ".join(str(["N", *shape]).replace("'", "") for shape in shapes)
        raise ValueError(f"{name} must be {wanted}, not {list(array.shape)}")
    return array


def _matched(arrays: Parts) -> Parts:
    """`arrays`, all of one length."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"all arrays must have the same number of rows, not {lengths}")
    return arrays


def centers(center: np.ndarray) -> np.ndarray:
    """`[N, 3]`, checked."""
    return _numbers("center", center, (3,))


def radii(radius: np.ndarray) -> np.ndarray:
    """`[N]`, checked."""
    return _numbers("radius", radius, ())


def axes(center: np.ndarray, semi_axes: np.ndarray, rotation: np.ndarray | None) -> Parts:
    """Named arrays for `rows.from_axes`.

    Raises:
      ValueError: for shapes and dtypes that do not fit.
    """
    arrays = {"center": centers(center)}
    semi_axes = _numbers("semi_axes", semi_axes, (3,), ())
    arrays["semi_axes" if semi_axes.ndim == 2 else "radius"] = semi_axes
    if rotation is not None:
        rotation = _numbers("rotation", rotation, (4,), (3, 3))
        arrays["quaternion" if rotation.ndim == 2 else "rotation"] = rotation
    return _matched(arrays)


def covariances(center: np.ndarray, covariance: np.ndarray) -> Parts:
    """Named arrays for `rows.from_covariance`.

    Raises:
      ValueError: for shapes and dtypes that do not fit.
    """
    return _matched({"center": centers(center), "covariance": _numbers("covariance", covariance, (3, 3), (6,))})


def of_axes(scale: float, quaternion_order: str) -> Callable[[Parts], Rows]:
    """`rows.from_axes` with checked settings.

    Raises:
      ValueError: for a scale that is not positive, or an unknown order.
    """
    if quaternion_order not in ORDERS:
        raise ValueError(f"quaternion_order must be one of {', '.join(ORDERS)}, not {quaternion_order!r}")
    return functools.partial(from_axes, scale=_positive("scale", scale), order=quaternion_order)


def of_covariance(k: float) -> Callable[[Parts], Rows]:
    """`rows.from_covariance` with checked settings.

    Raises:
      ValueError: for a k that is not positive.
    """
    return functools.partial(from_covariance, k=_positive("k", k))


def of_splats(
    k_sigma: float | None, iso_opacity: float | None, min_opacity: float, scale: float
) -> Callable[[Parts], Rows]:
    """`rows.from_splats` with checked settings.

    Raises:
      ValueError: unless exactly one of `k_sigma` and `iso_opacity` is given, and for values out of range.
    """
    if (k_sigma is None) == (iso_opacity is None):
        raise ValueError(
            "Gaussian splats have no edge: pass exactly one of k_sigma (so many standard deviations) and "
            f"iso_opacity (to where the opacity has fallen to this), not k_sigma={k_sigma}, iso_opacity={iso_opacity}"
        )
    if k_sigma is not None:
        _positive("k_sigma", k_sigma)
    elif not 0 < iso_opacity < 1:
        raise ValueError(f"iso_opacity must be in (0, 1), not {iso_opacity}")
    if not 0 <= min_opacity < 1:
        raise ValueError(f"min_opacity must be in [0, 1), not {min_opacity}")
    settings = {"k_sigma": k_sigma, "iso_opacity": iso_opacity, "min_opacity": min_opacity}
    return functools.partial(from_splats, **settings, scale=_positive("scale", scale))


def _positive(name: str, value: float) -> float:
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be a positive finite number, not {value}")
    return float(value)
