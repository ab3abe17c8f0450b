"""What a cloud occupies: voxels that it touches and voxels wholly inside, and the index for repeated sampling."""

import dataclasses
import functools
import math
from collections.abc import Iterator

import jax
import numpy as np

from jaxkit.sampling.anchor import Anchor
from jaxkit.sampling.bits import popcount
from jaxkit.sampling.bricks import Bricks
from jaxkit.sampling.brickset import BudgetError
from jaxkit.sampling.ellipsoids import Bodies, Cloud
from jaxkit.sampling.levels import LARGEST
from jaxkit.sampling.levels import levels as levels_of
from jaxkit.sampling.shape import BALL
from jaxkit.sampling.stamp import stamp
from jaxkit.sampling.tally import Tally, tally
from jaxkit.sampling.voxelize import BUDGET

# Voxels to a diameter: at 8, two thirds of the places in touched voxels of a lone ball are covered.
FINENESS = 8
# Bodies of levels that are at most 2 voxels wide would be all surface.
COARSE = 1


@dataclasses.dataclass(frozen=True)
class UnionIndex:
    """A cloud with the voxels of its larger bodies.

    Attributes:
      cloud: the bodies.
      tally: their volumes by level.
      touched: every voxel that shares a place with a body of `levels`, and some more.
      inside: voxels that lie wholly in one such body, in the same bricks as `touched`. Not all: in a brick that is
        touched everywhere, 480 of the 512 are enough.
      power: a voxel is `2**power` steps of the cloud's anchor.
      levels: lowest and highest level of the bodies in the bricks; smaller bodies are left out.
    """

    cloud: Cloud
    tally: Tally
    touched: Bricks
    inside: Bricks
    power: int
    levels: tuple[int, int]

    @property
    def anchor(self) -> Anchor:
        return self.cloud.anchor

    @property
    def nbytes(self) -> int:
        """Bytes of the bricks."""
        return self.touched.nbytes + self.inside.bits.nbytes

    def __len__(self) -> int:
        return len(self.cloud)

    def chunks(self, rows: int) -> Iterator[tuple[int, Bodies]]:
        """The chunks of the cloud: an index can be used wherever a cloud can."""
        return self.cloud.chunks(rows)

    @functools.cached_property
    def counts(self) -> np.ndarray:
        """`[B]` int32, touched voxels of each brick."""
        return popcount(self.touched.bits).sum(1, dtype=np.int32)

    def small_volume(self) -> float:
        """The volume of the bodies that are not in the bricks, overlaps counted as often as they occur."""
        return math.fsum(self.tally.level_volume[: self.levels[0]])

    def has_small(self) -> bool:
        """Whether bodies were left out of the bricks."""
        return bool(self.tally.level_bodies[: self.levels[0]].any())

    def bounds(self) -> tuple[float, float]:
        """A lower and an upper bound of the volume of the union, certain up to rounding."""
        return self.inside.volume(), self.touched.volume() + self.small_volume()


@dataclasses.dataclass(frozen=True)
class OfLevels:
    """A cloud of which only the bodies of some levels are left; the others are rows of zeros, nothing is renumbered.

    Attributes:
      cloud: all bodies.
      levels: lowest and highest level that stay.
    """

    cloud: Cloud
    levels: tuple[int, int]

    @property
    def anchor(self) -> Anchor:
        return self.cloud.anchor

    def __len__(self) -> int:
        return len(self.cloud)

    def chunks(self, rows: int) -> Iterator[tuple[int, Bodies]]:
        """The chunks of the cloud, without the bodies of other levels."""
        for first, bodies in self.cloud.chunks(rows):
            bodies = jax.tree.map(np.asarray, bodies)
            level = levels_of(bodies.semi_axes, self.anchor.step)
            stays = (level >= self.levels[0]) & (level <= self.levels[1])
            yield first, bodies._replace(semi_axes=bodies.semi_axes * stays[:, None].astype(np.float32))


def build_index(
    cloud: Cloud, *, power: int | None = None, coarser: int = 0, budget_bytes: int | None = None
) -> UnionIndex:
    """Finds the voxels that a cloud touches and fills: one pass, after which points of the union cost next to nothing.

    Voxels are about an eighth of the diameter of the bodies that hold most of the volume: some two thirds of the places
    in the touched voxels of balls that lie alone are covered, and nearly all where bodies overlap.

    Args:
      cloud: ellipsoids.
      power: voxels of `2**power` steps of the cloud's anchor; None: chosen, and doubled while the budget is exceeded.
      coarser: how many times the chosen voxels are doubled: quicker where many bodies overlap.
      budget_bytes: what the bricks may take while they grow; None: 4 GiB.

    Raises:
      BudgetError: if voxels of the given power, or of any, do not fit.
    """
    total, budget = tally(cloud), BUDGET if budget_bytes is None else budget_bytes
    if power is not None:
        return _index(cloud, total, power, budget)
    power = suitable_power(total, cloud.anchor.step) + coarser
    while True:
        try:
            return _index(cloud, total, power, budget)
        except BudgetError:
            if power >= LARGEST:
                raise
            power += 1


def dominant_level(total: Tally) -> int:
    """The level in the middle of the volume: half of it is in bodies of at most this level; 0 for an empty cloud."""
    below = np.cumsum(total.level_volume)
    return int(np.searchsorted(below, below[-1] / 2)) if below[-1] > 0 else 0


def suitable_power(total: Tally, step: float) -> int:
    """The power of two of steps nearest to an eighth of the diameter of the mean ball of the dominant level."""
    level = dominant_level(total)
    mean = total.level_volume[level] / max(total.level_bodies[level], 1)
    return round(math.log2(2 * (mean / BALL) ** (1 / 3) / FINENESS / step)) if mean > 0 else 0


def _index(cloud: Cloud, total: Tally, power: int, budget: int) -> UnionIndex:
    size, levels = cloud.anchor.step * 2.0**power, (max(power + COARSE + 1, 0), LARGEST)
    brick, (touched, inside) = stamp(cloud, size, ("touched", "inside"), levels, budget)
    origin = cloud.anchor.origin
    return UnionIndex(
        cloud, total, Bricks(touched, brick, size, origin), Bricks(inside, brick, size, origin), power, levels
    )
