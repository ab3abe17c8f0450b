"""A field on a coarse grid, by the recursive definition of B-splines, in float64."""

import numpy as np


def basis(position: float, degree: int) -> float:
    """The cardinal B-spline of a degree, supported on [0, degree + 1] (Cox and de Boor)."""
    if degree == 0:
        return 1.0 if 0 <= position < 1 else 0.0
    left, right = basis(position, degree - 1), basis(position - 1, degree - 1)
    return (position * left + (degree + 1 - position) * right) / degree


def displacement(nodes: np.ndarray, x: float, y: float, size: tuple) -> np.ndarray:
    """The displacement (x, y) at a place of a picture of `size`: node 1 on its left edge, node n - 2 on its right."""
    down, across = nodes.shape[:2]
    total = np.zeros(2)
    u = 1 + min(max((x + 0.5) / size[1], 0.0), 1.0) * (across - 3)
    v = 1 + min(max((y + 0.5) / size[0], 0.0), 1.0) * (down - 3)
    for i in range(down):
        for j in range(across):
            total += basis(v - i + 2, 3) * basis(u - j + 2, 3) * nodes[i, j]
    return total
