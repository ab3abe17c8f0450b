"""A part of a cloud that stands for the whole, to learn cheaply how heavily its bodies overlap."""

import dataclasses
import math
from collections.abc import Iterator

import jax
import numpy as np

from jaxkit.sampling.anchor import Anchor, Array
from jaxkit.sampling.drop import drop
from jaxkit.sampling.ellipsoids import Bodies, Cloud
from jaxkit.sampling.join import covers
from jaxkit.sampling.tally import tally

EVERY = 17
PROPOSALS = 2**15
ELSEWHERE = 2**31 - 1
"""An epoch whose points nobody is given."""


@dataclasses.dataclass(frozen=True)
class Thinned:
    """Every so many rows of a cloud, renumbered."""

    cloud: Cloud
    every: int = EVERY

    @property
    def anchor(self) -> Anchor:
        return self.cloud.anchor

    def __len__(self) -> int:
        return -(-len(self.cloud) // self.every)

    def chunks(self, rows: int) -> Iterator[tuple[int, Bodies]]:
        """Chunks of at most `rows` rows."""
        for first, bodies in self.cloud.chunks(rows):
            start = -first % self.every
            yield -(-first // self.every), jax.tree.map(lambda leaf: leaf[start :: self.every], bodies)  # noqa: B023


def expected_share(key: Array, cloud: Cloud, *, chunk: int = 2**20) -> float:
    """About what share of the points dropped into all bodies will be kept by owners, from every 17th body.

    In the thinned cloud a place lies in a seventeenth as many bodies. Were their number Poisson, of mean m, the share
    would be (1 - exp(-m)) / m; so m is found for the thinned cloud, and the share for seventeen times that. A guess:
    results must not depend on it.
    """
    some = Thinned(cloud)
    total = tally(some, chunk=chunk)
    if not total.bodies:
        return 1.0
    dropped = drop(key, some, PROPOSALS / total.volume, epoch=ELSEWHERE, chunk=chunk)
    settings = {"source": dropped.source, "level": dropped.level, "counted": "prior", "chunk": chunk}
    kept = np.mean(covers(some, dropped.position, **settings) == 0) if len(dropped.source) else 1.0
    return _share(EVERY * _mean(float(kept)))


def _share(mean: float) -> float:
    return -math.expm1(-mean) / mean if mean > 0 else 1.0


def _mean(share: float) -> float:
    """The m with `_share(m) = share`, by bisection."""
    low, high = 0.0, 1.0 / max(share, 1e-9)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _share(middle) > share else (low, middle)
    return low
