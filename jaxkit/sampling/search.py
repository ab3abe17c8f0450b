"""Windows of a Poisson process, until there are as many points as were asked for."""

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from jaxkit.sampling.anchor import Position
from jaxkit.sampling.draw import LowAcceptanceError, Stats, UnionDraw
from jaxkit.sampling.ellipsoids import Cloud
from jaxkit.sampling.grid import taken_rows
from jaxkit.sampling.methods import Kept, Method, Window

PILOT = 2**16 - 2**11
"""Proposals, whose number is Poisson: they fit in the least room of a grid, so that one program does."""
HOPELESS = 10**6
GUESS = 1.03
"""What is added to the first window where the share is a guess."""


@dataclasses.dataclass
class Search:
    """Windows of one method, until the points in them suffice.

    Attributes:
      method: makes the points of a window.
      count: points wanted.
      limit: most proposals in all.
      room: most proposals in a window, about.
      name: of the method.
      kept: what the windows so far have given.
      density: of proposals so far.
    """

    method: Method
    count: int
    limit: int
    room: int
    name: str = ""
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
        missing = self.count - self.accepted
        wanted = missing + 6 * math.sqrt(missing) + 6
        if not self.kept:
            share = self.method.share
            return min(self.limit, PILOT if share is None else max(GUESS * wanted / share, PILOT))
        share = (self.accepted + 0.5) / (self.proposals + 1)
        return wanted / share * (1 + 3 * math.sqrt((1 - share) / (self.accepted + 1)))

    def _hopeless(self, why: str) -> LowAcceptanceError:
        share = self.accepted / max(self.proposals, 1)
        return LowAcceptanceError(
            f"{self.count} points {why}: {share:.3g} of the proposals are kept, because as many bodies cover each "
            "place. Raise max_proposals, try method='bricks', or leave out bodies that lie inside of others"
        )

    def finished(self, cloud: Cloud, all_bodies: float) -> UnionDraw:
        """The first `count` points, and what is known of the union."""
        cells, offsets, sources = [np.zeros((0, 3), np.int32)], [np.zeros((0, 3), np.float32)], [np.zeros(0, np.int32)]
        for kept in self.kept:
            order = _by_tag(kept)
            cells.append(taken_rows(kept.position.cell, order))
            offsets.append(taken_rows(kept.position.offset, order))
            sources.append(np.take(kept.source, order))
        cell, offset, source = (np.concatenate(parts)[: self.count] for parts in (cells, offsets, sources))
        return UnionDraw(cloud.anchor, Position(cell, offset), source, self._stats(all_bodies), cloud)

    def _stats(self, all_bodies: float) -> Stats:
        method, tried, accepted = self.method, self.proposals, self.accepted
        sure = sum(kept.sure for kept in self.kept)
        tested, passed, doubtful = tried - sure, accepted - sure, method.volume - method.sure
        # One success and one failure more, so that no error is exactly zero.
        error = doubtful * math.sqrt((passed + 1) * (tested - passed + 1) / (tested + 2) ** 3)
        volume = method.sure + (doubtful * passed / tested if tested else 0.0)
        share = accepted / tried if tried else math.nan
        cover = all_bodies / volume if volume else math.nan
        return Stats(
            self.name, volume, error, method.low, method.high, tried, accepted, share, cover, len(self.kept)
        )  # fmt: skip


def _by_tag(kept: Kept) -> np.ndarray:
    """The order of the points of a window."""
    order = np.argsort(kept.tag)
    tag = kept.tag[order]
    return np.lexsort((kept.source, kept.tag)) if (tag[1:] == tag[:-1]).any() else order
