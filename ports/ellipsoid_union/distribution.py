"""Points of both sides as columns of numbers, to be compared as distributions; and whether they lie in the union."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxkit.port import Port, Request, Verdict

from . import clouds, slow
from .fast import sample

LABELS = ("x", "y", "z", "bodies that hold it", "depth")
BODIES = 150
BLOCK = 2000
ROUNDING = 1e-5
CLOUD = clouds.scattered(BODIES, cover=3.0, seed=5)


def slow_points(seed: int, count: int) -> np.ndarray:
    """`[count, 5]` of the slow program."""
    return columns(slow.sample(np.random.default_rng(seed), *CLOUD, count))


def fast_points(seed: int, count: int) -> np.ndarray:
    """`[count, 5]` of jaxkit."""
    return columns(sample(jax.random.key(seed), *CLOUD, count))


def columns(points: np.ndarray) -> np.ndarray:
    """Place, number of ellipsoids that hold it, and the least square radius of all."""
    cover, depth = measured(points, CLOUD)
    return np.column_stack([points, cover, depth])


def measured(points: np.ndarray, rows: clouds.Rows) -> tuple[np.ndarray, np.ndarray]:
    """Per point the ellipsoids that hold it and the least square radius, in float64: `[n]` each."""
    center, semi_axes = rows.center.astype(np.float64), rows.semi_axes.astype(np.float64)
    whiten = slow.rotation_matrix(rows.quaternion) / semi_axes[:, None, :]
    cover, depth = np.zeros(len(points)), np.full(len(points), np.inf)
    for first in range(0, len(points), BLOCK):
        block = points[first : first + BLOCK]
        for body in range(len(center)):
            square = (((block - center[body]) @ whiten[body]) ** 2).sum(1)
            cover[first : first + BLOCK] += square <= 1
            depth[first : first + BLOCK] = np.minimum(depth[first : first + BLOCK], square)
    return cover, depth


def outside(points: np.ndarray, rows: clouds.Rows) -> float:
    """The share of points that lie in no ellipsoid, up to rounding."""
    return float((measured(points, rows)[1] > 1 + ROUNDING).mean()) if len(points) else 0.0


@dataclass(frozen=True)
class Inside:
    """Every point of the rewrite lies in an ellipsoid, as many as were asked for, and none twice."""

    name: str = "inside"

    def check(self, port: Port, request: Request) -> Verdict:
        """Asks all cases, in float64."""
        count = 0
        for case in port.cases(request):
            problem = self._problem(port.rewrite, case.inputs)
            if problem:
                return Verdict(self.name, False, problem, {}, case.name)
            count += case.inputs[-1]
        return Verdict(self.name, True, f"all {count} points lie in an ellipsoid, no two are equal", {"points": count})

    def _problem(self, rewrite: Callable[..., Any], inputs: tuple) -> str | None:
        with jax.debug_key_reuse(False):
            points = np.asarray(rewrite(*inputs))
        rows, count = clouds.Rows(*inputs[1:4]), inputs[4]
        if points.shape != (count, 3) or points.dtype != np.float64:
            return f"{points.dtype}{list(points.shape)} came back where float64[{count}, 3] was asked for"
        if len(np.unique(points, axis=0)) < count:
            return f"{count - len(np.unique(points, axis=0))} of {count} points are there twice"
        astray = outside(points, rows)
        return f"{astray:.2%} of the points lie in no ellipsoid" if astray else None
