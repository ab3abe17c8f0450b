"""What a cloud amounts to: the volume of all bodies together, and how it is spread over sizes."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from jaxkit.sampling.drop import BLOCK, THREADS, blocks, mapped
from jaxkit.sampling.ellipsoids import Bodies, Cloud
from jaxkit.sampling.levels import LARGEST, levels
from jaxkit.sampling.shape import BALL

GROUP = 4096


class Tally(NamedTuple):
    """Sums over a cloud, which do not depend on how it is cut into chunks.

    Attributes:
      volume: of all bodies, overlaps counted as often as there are bodies, float64 in cubed units of the world.
      bodies: how many have a volume; rows of zeros do not.
      largest: the volume of the largest body.
      level_bodies: int64 `[31]`, bodies of each size level.
      level_volume: float64 `[31]`, their volumes.
    """

    volume: float
    bodies: int
    largest: float
    level_bodies: np.ndarray
    level_volume: np.ndarray


def tally(cloud: Cloud, *, chunk: int = 2**20, listen: Callable[[int], None] | None = None) -> Tally:
    """Sums up a cloud in one pass; `listen` is told the number of rows done.

    Groups of 4096 rows are summed alike whatever the chunks, and the groups exactly.
    """
    step = cloud.anchor.step
    found = []
    with ThreadPoolExecutor(THREADS) as pool:
        for part in mapped(pool, lambda block: _of_block(*block, step), blocks(cloud, chunk)):
            found.append(part)
            if listen is not None:
                listen(min(len(found) * BLOCK, len(cloud)))
    sums = [rows for part in found for rows in part[2]]
    level_volume = np.array([math.fsum(column) for column in np.reshape(sums, (-1, LARGEST + 1)).T])
    level_bodies = sum((part[1] for part in found), np.zeros(LARGEST + 1, np.int64))
    largest = max((part[0] for part in found), default=0.0)
    return Tally(math.fsum(level_volume), int(level_bodies.sum()), largest, level_bodies, level_volume)


def _of_block(first: int, bodies: Bodies, step: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Largest volume, bodies by level, and volumes by group and level."""
    axes = [bodies.semi_axes[:, axis].astype(np.float64) for axis in range(3)]
    volume = BALL * axes[0] * axes[1] * axes[2]
    level = levels(bodies.semi_axes, step)
    group = (np.arange(first, first + len(level)) // GROUP) - first // GROUP
    cell = group * (LARGEST + 1) + level
    sums = np.bincount(cell, volume, minlength=(int(group[-1]) + 1) * (LARGEST + 1)).reshape(-1, LARGEST + 1)
    return float(volume.max()), np.bincount(level[volume > 0], minlength=LARGEST + 1), sums
