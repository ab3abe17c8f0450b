"""The volume of a union, with its error."""

import dataclasses
import math
from collections.abc import Callable

import jax
import numpy as np

from jaxkit.sampling.anchor import Array
from jaxkit.sampling.drop import drop, whole_blocks
from jaxkit.sampling.ellipsoids import Cloud
from jaxkit.sampling.join import covers
from jaxkit.sampling.tally import tally

PILOT = 2**16 - 2**11
"""Proposals, whose number is Poisson: they fit in the least room of a grid, so that one program does."""
MOST_PROPOSALS = 2**24
CLEARANCE = 1.2
NINETY_FIVE = 1.959964


@dataclasses.dataclass(frozen=True)
class Volume:
    """The volume of a union in cubed units of the world.

    Attributes:
      value: the estimate, without bias: it is not moved into the certain bounds.
      stderr: its standard error.
      low95, high95: an interval that holds the volume in 95 of 100 runs, within the certain bounds.
      lower_bound, upper_bound: the largest body, and all bodies together: these hold for certain, up to rounding.
      proposals: points that were used.
    """

    value: float
    stderr: float
    low95: float
    high95: float
    lower_bound: float
    upper_bound: float
    proposals: int


@dataclasses.dataclass
class Shares:
    """The shares 1/q of points that q bodies cover, summed up."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, covered: np.ndarray) -> None:
        """Takes the numbers of bodies that cover each of some points, `[T]`."""
        counts = np.bincount(covered)
        share = 1.0 / np.arange(1, len(counts) + 1)
        times = np.append(counts[1:], 0)
        self.count += int(times.sum())
        self.total += math.fsum(times * share)
        self.squares += math.fsum(times * share**2)

    @property
    def mean(self) -> float:
        """The mean share: the volume of the union over that of all bodies."""
        return self.total / self.count if self.count else 1.0

    @property
    def stderr(self) -> float:
        """The standard error of the mean, with one share of a half more, so that it is never exactly zero."""
        count, total, squares = self.count + 1, self.total + 0.5, self.squares + 0.25
        variance = max(squares / count - (total / count) ** 2, 0.0)
        return math.sqrt(variance / count)


def union_volume(
    key: Array,
    cloud: Cloud,
    *,
    rel_err: float = 1e-3,
    chunk: int = 2**20,
    mesh: jax.sharding.Mesh | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Volume:
    """The volume of the union of all bodies, to a relative standard error.

    The mean of 1/q over points dropped into all bodies alike, where q bodies cover the point, times the volume of all
    bodies together: unbiased, and of a fraction of the variance of counting the points that are kept (Karp, Luby and
    Madras 1989, with their coverage algorithm's trials replaced by exact counts).

    Args:
      key: a typed key.
      cloud: the bodies.
      rel_err: relative standard error to reach; a pilot decides how many points that takes.
      chunk: rows of the cloud at a time; no result depends on it.
      mesh: devices that share the work.
      progress: told `(stage, done, total)`.

    Raises:
      ValueError: if `rel_err` is not in (0, 1), or for a chunk below 1.
    """
    if not 0 < rel_err < 1:
        raise ValueError(f"rel_err must be in (0, 1), got {rel_err!r}")
    chunk = whole_blocks(chunk)
    tell = progress or (lambda stage, done, total: None)
    total = tally(cloud, chunk=chunk, listen=lambda done: tell("tally", done, len(cloud)))
    shares, density, wanted = Shares(), 0.0, PILOT
    while total.bodies and shares.count < wanted:
        high = density + min(wanted - shares.count + 4 * math.sqrt(wanted), MOST_PROPOSALS) / total.volume
        dropped = drop(key, cloud, high, above=density, chunk=chunk)
        settings = {"source": dropped.source, "counted": "other", "chunk": chunk, "mesh": mesh}
        shares.add(1 + covers(cloud, dropped.position, **settings))
        density, wanted = high, max(_wanted(shares, rel_err), PILOT)
        tell("points", min(shares.count, wanted), wanted)
    return _estimate(shares, total.volume, total.largest)


def _wanted(shares: Shares, rel_err: float) -> int:
    reached = shares.stderr / shares.mean
    return math.ceil(CLEARANCE * shares.count * (reached / rel_err) ** 2) if reached > rel_err else shares.count


def _estimate(shares: Shares, volume: float, largest: float) -> Volume:
    value, stderr = volume * shares.mean, volume * shares.stderr if volume else 0.0
    low, high = (min(max(value + side * NINETY_FIVE * stderr, largest), volume) for side in (-1, 1))
    return Volume(value, stderr, low, high, largest, volume, shares.count)
