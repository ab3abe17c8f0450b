"""Points from the union of ellipsoids as the project had it: throw one into the box, ask every ellipsoid, repeat."""

import numpy as np


def sample(
    rng: np.random.Generator, center: np.ndarray, semi_axes: np.ndarray, quaternion: np.ndarray, count: int
) -> np.ndarray:
    """`count` points `[count, 3]`, uniform in the union."""
    center, semi_axes = center.astype(np.float64), semi_axes.astype(np.float64)
    rotation = rotation_matrix(quaternion)
    low, high = bounding_box(center, semi_axes, rotation)
    whiten = rotation / semi_axes[:, None, :]
    points = []
    while len(points) < count:
        point = rng.uniform(low, high)
        if is_inside(point, center, whiten):
            points.append(point)
    return np.array(points).reshape(count, 3)


def is_inside(point: np.ndarray, center: np.ndarray, whiten: np.ndarray) -> bool:
    """Whether any ellipsoid holds the point."""
    return bool((square_radius(point, center, whiten) <= 1).any())


def square_radius(point: np.ndarray, center: np.ndarray, whiten: np.ndarray) -> np.ndarray:
    """`|diag(1 / s) R^T (point - center)|^2` for every ellipsoid, `[N]`; `whiten` is `R diag(1 / s)` `[N, 3, 3]`."""
    return (np.einsum("nij,ni->nj", whiten, point - center) ** 2).sum(1)


def bounding_box(center: np.ndarray, semi_axes: np.ndarray, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The corners `[3]` of the smallest upright box around all ellipsoids."""
    half = np.sqrt(((rotation * semi_axes[:, None, :]) ** 2).sum(2))
    return (center - half).min(0), (center + half).max(0)


def rotation_matrix(quaternion: np.ndarray) -> np.ndarray:
    """`[N, 3, 3]` float64 from quaternions `[N, 4]` (w, x, y, z); body axes are the columns."""
    quaternion = quaternion.astype(np.float64)
    w, x, y, z = (quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)
