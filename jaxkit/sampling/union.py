"""Independent uniform points in the union of the bodies of a cloud."""

import dataclasses
import math
from collections.abc import Callable, Iterator

import jax
import numpy as np

from jaxkit.sampling.anchor import Array, Position
from jaxkit.sampling.brickset import BudgetError
from jaxkit.sampling.draw import LowAcceptanceError, Stats, UnionDraw
from jaxkit.sampling.ellipsoids import Cloud
from jaxkit.sampling.methods import Kept, Method, Request, Window, by_join
from jaxkit.sampling.tally import tally

METHODS: dict[str, Callable[[Request], Method]] = {"join": by_join}
Listener = Callable[[str, int, int], None]

PILOT = 2**16
HOPELESS = 10**6
PROPOSAL_BYTES = 160
POINT_BYTES = 64
BUDGET = 3 * 10**9


def sample_union(
    key: Array,
    cloud: Cloud,
    *,
    count: int,
    method: str = "auto",
    stratified: bool = False,
    chunk: int = 2**20,
    mesh: jax.sharding.Mesh | None = None,
    budget_bytes: int | None = None,
    max_proposals: int | None = None,
    progress: Listener | None = None,
) -> UnionDraw:
    """`count` independent points, exactly uniform in the union: where bodies overlap, they count once.

    Every body drops points as a Poisson process of one density, and a point stays in one of the bodies that cover its
    place only. What stays is a Poisson process in the union (see `drop`), in a random order, of which the first `count`
    are taken. The result depends on the key and the cloud only: not on `chunk`, `mesh` or `budget_bytes`, and a larger
    count goes on where a smaller one ended.

    Args:
      key: a typed key.
      cloud: `Ellipsoids`, or a `CloudFile` that need not fit in memory.
      count: how many points; 0 gives none.
      method: one of `METHODS`, or "auto": by how many bodies cover a place, as a pilot finds.
      stratified: each body receives its expected number of points rounded up or down before overlaps are resolved.
        Every place stays as likely, sums vary less, but the points are not independent.
      chunk: rows of the cloud at a time.
      mesh: devices that share the work.
      budget_bytes: memory for points in the making, 3 GB unless given; more of it means fewer passes.
      max_proposals: most points to try; unless given, a hundred million or two hundred for each point.
      progress: told `(stage, done, total)`.

    Raises:
      ValueError: for a negative count, an unknown method, or points wanted from a cloud without a body.
      LowAcceptanceError: if the count would take more than `max_proposals`.
      BudgetError: if the points themselves exceed the budget.
    """
    _check(count, method, budget_bytes)
    tell = progress or (lambda stage, done, total: None)
    total = tally(cloud, chunk=chunk, listen=lambda done: tell("tally", done, len(cloud)))
    if count and not total.bodies:
        raise ValueError(f"cannot draw {count} points: none of the {len(cloud)} rows of the cloud has a volume")
    request = Request(key, cloud, total, stratified, chunk, mesh, budget_bytes)
    limit = max_proposals or max(10**8, 200 * count)
    search = Search(METHODS["join" if method == "auto" else method](request), count, limit, _room(budget_bytes))
    for found in search.windows() if count else ():
        tell("points", min(found, count), count)
    return search.finished(cloud, "join" if method == "auto" else method)


def _check(count: int, method: str, budget_bytes: int | None) -> None:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise ValueError(f"count must be a whole number of at least 0, got {count!r}")
    if method != "auto" and method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(['auto', *METHODS])}, got {method!r}")
    least = count * POINT_BYTES + PILOT * PROPOSAL_BYTES
    if budget_bytes is not None and budget_bytes < least:
        raise BudgetError(f"{count} points take {least:.3g} bytes while they are made, budget_bytes is {budget_bytes}")


def _room(budget_bytes: int | None) -> int:
    """Proposals that the budget holds at a time."""
    return max((BUDGET if budget_bytes is None else budget_bytes) // PROPOSAL_BYTES, PILOT)


@dataclasses.dataclass
class Search:
    """Windows of one method, until the points in them suffice.

    Attributes:
      method: makes the points of a window.
      count: points wanted.
      limit: most proposals in all.
      room: most proposals in a window, about.
      kept: what the windows so far have given.
      density: of proposals so far.
    """

    method: Method
    count: int
    limit: int
    room: int
    kept: list[Kept] = dataclasses.field(default_factory=list)
    density: float = 0.0

    def windows(self) -> Iterator[int]:
        """Draws window after window; yields how many points there are so far.

        Raises:
          LowAcceptanceError: see `sample_union`.
        """
        while self.accepted < self.count:
            wanted = self._wanted()
            if self.proposals + wanted > self.limit:
                raise self._hopeless(f"would take about {self.proposals + wanted:.3g} proposals of {self.limit:.3g}")
            high = self.density + min(wanted, self.room) / self.method.volume
            self.kept.append(self.method.draw(Window(self.density, high, len(self.kept))))
            self.density = high
            if self.proposals >= HOPELESS and not self.accepted:
                raise self._hopeless(f"found none in {self.proposals:.3g} proposals")
            yield self.accepted

    @property
    def proposals(self) -> int:
        """Points tried so far."""
        return sum(kept.proposals for kept in self.kept)

    @property
    def accepted(self) -> int:
        """Points kept so far."""
        return sum(len(kept.tag) for kept in self.kept)

    def _wanted(self) -> float:
        """Proposals that will most likely do, given the share kept so far; to begin with, a pilot."""
        if not self.kept:
            return PILOT
        missing = self.count - self.accepted
        share = (self.accepted + 0.5) / (self.proposals + 1)
        doubt = 1 + 3 * math.sqrt((1 - share) / (self.accepted + 1))
        return (missing + 6 * math.sqrt(missing) + 6) / share * doubt

    def _hopeless(self, why: str) -> LowAcceptanceError:
        share = self.accepted / max(self.proposals, 1)
        return LowAcceptanceError(
            f"{self.count} points {why}: {share:.3g} of the proposals are kept, because as many bodies cover each "
            "place. Raise max_proposals, try method='bricks', or leave out bodies that lie inside of others"
        )

    def finished(self, cloud: Cloud, name: str) -> UnionDraw:
        """The first `count` points, and what is known of the union."""
        cells, offsets, sources = [np.zeros((0, 3), np.int32)], [np.zeros((0, 3), np.float32)], [np.zeros(0, np.int32)]
        for kept in self.kept:
            order = _by_tag(kept)
            cells.append(kept.position.cell[order])
            offsets.append(kept.position.offset[order])
            sources.append(kept.source[order])
        cell, offset, source = (np.concatenate(parts)[: self.count] for parts in (cells, offsets, sources))
        return UnionDraw(cloud.anchor, Position(cell, offset), source, self._stats(name))

    def _stats(self, name: str) -> Stats:
        tried, accepted = self.proposals, self.accepted
        share = accepted / tried if tried else math.nan
        # One success and one failure more, so that no error is exactly zero.
        doubt = math.sqrt((accepted + 1) * (tried - accepted + 1) / (tried + 2) ** 3)
        volume = self.method.volume * share
        low, high = self.method.low, self.method.high
        cover = high / volume if accepted else math.nan
        error = self.method.volume * doubt
        return Stats(name, volume, error, low, high, tried, accepted, share, cover, len(self.kept))


def _by_tag(kept: Kept) -> np.ndarray:
    """The order of the points of a window."""
    order = np.argsort(kept.tag)
    tag = kept.tag[order]
    return np.lexsort((kept.source, kept.tag)) if (tag[1:] == tag[:-1]).any() else order
