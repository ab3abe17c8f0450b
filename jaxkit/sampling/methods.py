"""Ways to make a Poisson process in a union: what every one takes and gives, and the way of the join."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from jaxkit.sampling.anchor import Array, Position
from jaxkit.sampling.drop import drop
from jaxkit.sampling.ellipsoids import Cloud
from jaxkit.sampling.join import covers
from jaxkit.sampling.tally import Tally


class Request(NamedTuple):
    """What is to be sampled. See `sample_union` for the fields it shares with it."""

    key: Array
    cloud: Cloud
    tally: Tally
    stratified: bool = False
    chunk: int = 2**20
    mesh: jax.sharding.Mesh | None = None
    budget_bytes: int | None = None


class Window(NamedTuple):
    """Points of a Poisson process between two densities, in points per cubed unit of the world.

    Windows that follow each other make one process; `number` counts them.
    """

    low: float
    high: float
    number: int


class Kept(NamedTuple):
    """The points of a window that are kept.

    Attributes:
      proposals: how many were tried.
      position: `Position` of those kept, `[A, 3]`.
      source: int32 `[A]`, rows of the owners.
      tag: uint64 `[A]`, independent of the places: the kept points with the smallest tags are a fair sample.
    """

    proposals: int
    position: Position
    source: np.ndarray
    tag: np.ndarray


class Method(NamedTuple):
    """One way, made ready for one request.

    Attributes:
      volume: what proposals are spread over, so that `volume` times the share kept is the volume of the union.
      low, high: certain bounds of the volume of the union.
      draw: the points of a window.
    """

    volume: float
    low: float
    high: float
    draw: Callable[[Window], Kept]


def by_join(request: Request) -> Method:
    """Every body drops points, and those stay that no larger (of equals: no earlier) body covers.

    Karp, Luby and Madras, "Monte-Carlo approximation algorithms for enumeration problems" (1989), with a point's owner
    found by streaming the bodies over a grid of the points.
    """
    total = request.tally

    def draw(window: Window) -> Kept:
        settings = {"stratified": request.stratified, "chunk": request.chunk}
        dropped = drop(request.key, request.cloud, window.high, above=window.low, **settings)
        prior = covers(
            request.cloud,
            dropped.position,
            source=dropped.source,
            level=dropped.level,
            counted="prior",
            chunk=request.chunk,
            mesh=request.mesh,
        )
        keep = np.flatnonzero(prior == 0)
        position = Position(*(part[keep] for part in dropped.position))
        return Kept(len(prior), position, dropped.source[keep], dropped.tag[keep])

    return Method(total.volume, total.largest, total.volume, draw)
