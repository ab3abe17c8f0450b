"""What sampling a union returns, and how it fails."""

import dataclasses
import functools

import numpy as np

from jaxkit.sampling.anchor import Anchor, Position
from jaxkit.sampling.ellipsoids import Cloud
from jaxkit.sampling.queries import owner


class LowAcceptanceError(RuntimeError):
    """The count cannot be reached with the proposals that are allowed."""


@dataclasses.dataclass(frozen=True)
class Stats:
    """How a sample came about, and what it says about the union.

    Attributes:
      method: "join" or "bricks".
      volume: of the union, estimated from the shares that were kept, in cubed units of the world.
      volume_stderr: its standard error. For a stratified draw an upper estimate.
      volume_low, volume_high: bounds that hold for certain, up to rounding: at the least the largest body, at the most
        all bodies together.
      proposals: points that were tried, `accepted`: those that were kept, at least the count.
      acceptance: the share that was kept.
      mean_cover: how many bodies cover a place of the union, on average.
      windows: passes over the cloud in which points were proposed.
    """

    method: str
    volume: float
    volume_stderr: float
    volume_low: float
    volume_high: float
    proposals: int
    accepted: int
    acceptance: float
    mean_cover: float
    windows: int


@dataclasses.dataclass(frozen=True)
class UnionDraw:
    """Points that are independent and uniform in a union of bodies, NumPy arrays on the host.

    Their order is random: the first n are a fair sample too, and they are what `count=n` returns.

    Attributes:
      anchor: the frame of the cloud.
      position: `Position` in that frame, int32 `[n, 3]` and float32 `[n, 3]`: no precision is lost far from the origin.
      known: int32 `[n]`, `source` where making the points told it, else -1.
      stats: see `Stats`.
      cloud: what was sampled.
    """

    anchor: Anchor
    position: Position
    known: np.ndarray
    stats: Stats
    cloud: Cloud

    def __len__(self) -> int:
        return len(self.known)

    @functools.cached_property
    def source(self) -> np.ndarray:
        """int32 `[n]`, row of the body that owns each point: the largest, and of equals the first, that covers it.

        The bricks do not tell; then the owners are looked up when they are first asked for.
        """
        unknown = np.flatnonzero(self.known < 0)
        if not len(unknown):
            return self.known
        source = self.known.copy()
        source[unknown] = owner(self.cloud, Position(*(part[unknown] for part in self.position)))
        return source

    def points(self) -> np.ndarray:
        """float32 `[n, 3]` relative to `anchor.origin`."""
        return self.anchor.relative(self.position).astype(np.float32)

    def to_float64(self) -> np.ndarray:
        """World coordinates, float64 `[n, 3]`."""
        return self.anchor.relative(self.position) + np.asarray(self.anchor.origin)
