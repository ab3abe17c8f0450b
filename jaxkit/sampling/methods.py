"""Ways to make a Poisson process in a union: what every one takes and gives, by the join and by bricks."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from jaxkit.sampling.anchor import Array, Position
from jaxkit.sampling.drop import drop
from jaxkit.sampling.ellipsoids import Cloud
from jaxkit.sampling.grid import taken_rows
from jaxkit.sampling.hybrid import survivors
from jaxkit.sampling.join import covers
from jaxkit.sampling.occupancy import UnionIndex, build_index
from jaxkit.sampling.tally import Tally

CROWDED = 0.1
"""Where owners keep less than this, most of the union is inside even of voxels twice as large."""


class Request(NamedTuple):
    """What is to be sampled. See `sample_union` for the fields it shares with it.

    Attributes:
      share: of the points dropped into all bodies, those that owners will keep, about; None: not known.
    """

    key: Array
    cloud: Cloud
    tally: Tally
    stratified: bool = False
    chunk: int = 2**20
    mesh: jax.sharding.Mesh | None = None
    budget_bytes: int | None = None
    share: float | None = None


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
      source: int32 `[A]`, rows of the owners; -1 where they are not known.
      tag: uint64 `[A]`, independent of the places: the kept points with the smallest tags are a fair sample.
      sure: how many of those kept were certain to be.
    """

    proposals: int
    position: Position
    source: np.ndarray
    tag: np.ndarray
    sure: int = 0


class Method(NamedTuple):
    """One way, made ready for one request.

    Attributes:
      volume: what proposals are spread over, so that `volume` times the share kept is the volume of the union.
      low, high: certain bounds of the volume of the union.
      draw: the points of a window.
      sure: the part of `volume` in which every proposal is kept.
      share: of the proposals that will be kept, about; None: not known.
    """

    volume: float
    low: float
    high: float
    draw: Callable[[Window], Kept]
    sure: float = 0.0
    share: float | None = None


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
        position = Position(*(taken_rows(part, keep) for part in dropped.position))
        return Kept(len(prior), position, np.take(dropped.source, keep), np.take(dropped.tag, keep))

    return Method(total.volume, total.largest, total.volume, draw, share=request.share)


def by_bricks(request: Request) -> Method:
    """Voxels that the union touches propose, and those inside need no test: see `hybrid`."""
    index, total = request.cloud, request.tally
    if not isinstance(index, UnionIndex):
        half = None if request.budget_bytes is None else request.budget_bytes // 2
        coarser = 1 if request.share is not None and request.share < CROWDED else 0
        index = build_index(request.cloud, coarser=coarser, budget_bytes=half)
    low, high = index.bounds()

    def draw(window: Window) -> Kept:
        settings = {"stratified": request.stratified, "chunk": request.chunk, "mesh": request.mesh}
        found = survivors(request.key, index, window.high, above=window.low, **settings)
        points = found.points
        return Kept(found.proposals, points.position, points.source, points.tag, found.sure)

    spread = index.touched.volume() + index.small_volume()
    sure = index.inside.volume()
    share = (sure + spread) / (2 * spread) if spread else None
    return Method(spread, max(low, total.largest), min(high, total.volume), draw, sure, share)
