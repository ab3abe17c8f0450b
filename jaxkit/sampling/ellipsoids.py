"""Clouds of ellipsoids."""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from jaxkit.sampling.anchor import Anchor, Array, Position


class Bodies(NamedTuple):
    """Rows of a cloud, in the cloud's frame. What the compiled programs take.

    Attributes:
      center: `Position` of the centres, `[N, 3]` int32 cells and `[N, 3]` float32 offsets.
      semi_axes: `[N, 3]` float32, radii in the units of the world. All zero: no body, which covers nothing.
      quaternion: `[N, 4]` float32 (w, x, y, z), unit; body axes are the columns of its rotation matrix.
    """

    center: Position
    semi_axes: Array
    quaternion: Array


class Cloud(Protocol):
    """What samplers take: bodies that come in chunks, so that they need not fit in memory at once."""

    anchor: Anchor

    def __len__(self) -> int: ...

    def chunks(self, rows: int) -> Iterator[tuple[int, Bodies]]:
        """`(first, bodies)` in order; every chunk has `rows` rows but the last, which may be shorter."""
        ...


@functools.partial(jax.tree_util.register_dataclass, data_fields=["bodies"], meta_fields=["anchor", "report"])
@dataclasses.dataclass(frozen=True)
class Ellipsoids:
    """A cloud in memory. Made by `from_axes`, `from_covariance`, `from_spheres` or `from_3dgs_ply`."""

    bodies: Bodies
    anchor: Anchor = Anchor()
    report: Any = None

    def __len__(self) -> int:
        return self.bodies.semi_axes.shape[0]

    def chunks(self, rows: int) -> Iterator[tuple[int, Bodies]]:
        """`(first, bodies)` in order, `rows` at a time, the last shorter."""
        for first in range(0, len(self), rows):
            yield first, jax.tree.map(lambda leaf: leaf[first : first + rows], self.bodies)  # noqa: B023

    @staticmethod
    def from_spheres(center: np.ndarray, radius: np.ndarray) -> "Ellipsoids":
        """Balls with world centres `[N, 3]` and radii `[N]`."""
        radius = np.asarray(radius, np.float32)
        upright = np.tile(np.float32([1, 0, 0, 0]), (len(radius), 1))
        return Ellipsoids.from_axes(center, np.repeat(radius[:, None], 3, 1), upright)

    @staticmethod
    def from_axes(center: np.ndarray, semi_axes: np.ndarray, quaternion: np.ndarray) -> "Ellipsoids":
        """Ellipsoids with world centres `[N, 3]`, radii `[N, 3]` and quaternions `[N, 4]` (w, x, y, z)."""
        center = np.asarray(center, np.float64)
        origin = tuple(float(value) for value in np.floor((center.min(0) + center.max(0)) / 2))
        step = 2.0 ** np.floor(np.log2(np.median(np.max(semi_axes, 1))))
        anchor = Anchor(origin, float(step))
        unit = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
        return Ellipsoids(
            Bodies(anchor.place(center), np.asarray(semi_axes, np.float32), unit.astype(np.float32)), anchor
        )
