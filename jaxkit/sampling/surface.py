"""Uniform points on the exposed surface of a union of ellipsoids, with normals."""

import math
from typing import NamedTuple

import jax
import numpy as np

from jaxkit.sampling.anchor import Anchor, Array, Position
from jaxkit.sampling.copies import without_copies
from jaxkit.sampling.draw import LowAcceptanceError
from jaxkit.sampling.drop import blocks, drop
from jaxkit.sampling.ellipsoids import Cloud
from jaxkit.sampling.join import covers
from jaxkit.sampling.methods import Method, Window
from jaxkit.sampling.search import Search

ROOM = 2**24
POWER = 1.6075


class SurfaceDraw(NamedTuple):
    """Points of a surface, NumPy arrays on the host, in a random order.

    Attributes:
      position: `Position`, int32 `[count, 3]` and float32 `[count, 3]`.
      normal: float32 `[count, 3]`, unit vectors that point out of the union.
      source: int32 `[count]`, row of the body on whose surface the point lies.
      anchor: frame of the cloud.
      area: of the exposed surface, estimated, in squared units of the world.
      area_stderr: its standard error.
      proposals: points that were tried, on all surfaces.
      accepted: those that are exposed, at least the count.
    """

    position: Position
    normal: np.ndarray
    source: np.ndarray
    anchor: Anchor
    area: float
    area_stderr: float
    proposals: int
    accepted: int

    def points(self) -> np.ndarray:
        """`[count, 3]` float32, relative to the origin of the cloud."""
        return self.anchor.relative(self.position).astype(np.float32)

    def to_float64(self) -> np.ndarray:
        """World coordinates `[count, 3]` float64."""
        return self.anchor.to_float64(self.position)


class Exposed(NamedTuple):
    """The points of a window that lie in no other body, see `jaxkit.sampling.methods.Kept`."""

    proposals: int
    position: Position
    source: np.ndarray
    tag: np.ndarray
    normal: np.ndarray


def sample_surface(
    key: Array,
    cloud: Cloud,
    *,
    count: int,
    chunk: int = 2**20,
    mesh: jax.sharding.Mesh | None = None,
    max_proposals: int | None = None,
) -> SurfaceDraw:
    """`count` independent points, uniform by area on the boundary of the union.

    Every body drops a Poisson process on its own surface, and a point stays if no other body covers it: what stays is
    a Poisson process on the part of the surface that is exposed. Bodies that an earlier row repeats number for number
    are left out first, since they would cover each other's surfaces.

    Args:
      key: a typed key.
      cloud: the bodies.
      count: how many points; 0 gives none.
      chunk: rows of the cloud at a time; no result depends on it.
      mesh: devices that share the tests.
      max_proposals: most points to try; unless given, a hundred million or two hundred for each point.

    Raises:
      ValueError: for a negative count, or points wanted from a cloud without a body.
      LowAcceptanceError: if the count would take more than `max_proposals`.
    """
    if count < 0:
        raise ValueError(f"count must be at least 0, got {count}")
    cloud = without_copies(cloud, chunk=chunk)
    area = surface_of_all(cloud, chunk=chunk)
    if count and not area > 0:
        raise ValueError(f"cannot draw {count} points: none of the {len(cloud)} rows of the cloud has a surface")
    method = Method(area, 0.0, area, lambda window: _exposed(key, cloud, window, chunk, mesh))
    search = Search(method, count, max_proposals or max(10**8, 200 * count), ROOM)
    try:
        found = sum(1 for _ in search.windows()) if count else 0
    except LowAcceptanceError as error:
        raise LowAcceptanceError(
            f"of {search.proposals} points on all surfaces {search.accepted} are exposed, too few to find "
            f"{count}: raise max_proposals, or leave out bodies that lie inside of others"
        ) from error
    return _finished(search, cloud, found)


def surface_of_all(cloud: Cloud, *, chunk: int = 2**20) -> float:
    """The surfaces of all bodies together, to 1.1 % (K. Thomsen's formula, 2004)."""
    sums = []
    for _, bodies in blocks(cloud, chunk):
        a, b, c = (bodies.semi_axes[:, axis].astype(np.float64) for axis in range(3))
        mean = ((a * b) ** POWER + (a * c) ** POWER + (b * c) ** POWER) / 3
        sums.append(float((mean ** (1 / POWER)).sum()))
    return 4 * math.pi * math.fsum(sums)


def _exposed(key: Array, cloud: Cloud, window: Window, chunk: int, mesh: jax.sharding.Mesh | None) -> Exposed:
    dropped = drop(key, cloud, window.high, above=window.low, where="surface", chunk=chunk)
    other = covers(cloud, dropped.position, source=dropped.source, counted="other", chunk=chunk, mesh=mesh)
    free = np.flatnonzero(other == 0)
    position = Position(*(part[free] for part in dropped.position))
    return Exposed(len(other), position, dropped.source[free], dropped.tag[free], dropped.normal[free])


def _finished(search: Search, cloud: Cloud, windows: int) -> SurfaceDraw:
    if not windows:
        none = np.zeros((0, 3), np.float32)
        empty = Position(none.astype(np.int32), none), none, np.zeros(0, np.int32)
        return SurfaceDraw(*empty, cloud.anchor, math.nan, math.nan, 0, 0)
    whole = jax.tree.map(lambda *leaves: np.concatenate(leaves), *[kept[1:] for kept in search.kept])
    order = np.argsort(whole[2])[: search.count]
    position, source, _, normal = jax.tree.map(lambda leaf: leaf[order], whole)
    found = search.accepted
    area, error = found / search.density, math.sqrt(found) / search.density
    return SurfaceDraw(position, normal, source, cloud.anchor, area, error, search.proposals, found)
