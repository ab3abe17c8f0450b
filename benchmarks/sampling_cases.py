"""The clouds of the sampling benchmark, as files, and what is asked of them."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ports.ellipsoid_union.clouds import scattered
from ports.ellipsoid_union.discretisation import errors, voxel_size

JAXKIT, BIT_ARRAY = "jaxkit", "bit array, PyTorch"
FOUR_DECADES = "four decades"
CLOUDS = {"cover 1.3": (1.3, 0.0), "cover 5": (5.0, 0.0), "cover 30": (30.0, 0.0), FOUR_DECADES: (1.3, 4.0)}


class Case(NamedTuple):
    """One measurement: who draws how many points from how many bodies of which cloud.

    Attributes:
      voxel: edge of the peer's voxels, 0 for jaxkit.
      note: what the voxel stands for.
    """

    side: str
    cloud: str
    bodies: int
    points: int
    voxel: float = 0.0
    note: str = ""

    @property
    def name(self) -> str:
        return f"{self.side}: {self.points:.0e} points from {self.bodies:.0e} bodies, {self.cloud}"


class Sizes(NamedTuple):
    """What one run goes through: `peer` bodies and points are where the peer is timed, `fine` where its voxels are."""

    bodies: tuple[int, ...]
    points: tuple[int, ...]
    peer: tuple[int, ...]
    fine: int


FULL = Sizes((10**5, 10**6, 10**7, 3 * 10**7), (10**6, 10**7), (10**5, 10**6, 10**7), 3000)
QUICK = Sizes((10**4, 10**5), (10**4, 10**5), (10**4, 10**5), 300)


def own_cases(sizes: Sizes, clouds: list[str]) -> list[Case]:
    """Every cloud, size and number of points, smallest first; and few points beside the peer."""
    few = [Case(JAXKIT, clouds[0], n, sizes.points[0] // 10) for n in sizes.peer]
    return few + [Case(JAXKIT, cloud, n, m) for n in sizes.bodies for cloud in clouds for m in sizes.points]


def peer_cases(sizes: Sizes, clouds: list[str]) -> list[Case]:
    """The bit array at 1 % error of a body's volume, and on a small cloud where 1 % of its points lie outside."""
    found = [
        Case(BIT_ARRAY, cloud, n, sizes.points[0], voxel_of(cloud, n), "1 % error of a body's volume")
        for n in sizes.peer
        for cloud in clouds
        if cloud != FOUR_DECADES
    ]
    few = [case._replace(points=case.points // 10) for case in found if case.cloud == clouds[0]]
    voxel, note = fine_voxel(clouds[0], sizes.fine), "1 % of the points outside"
    return [*found, *few, Case(BIT_ARRAY, clouds[0], sizes.fine, sizes.points[0], voxel, note)]


def voxel_of(cloud: str, bodies: int) -> float:
    return voxel_size(made(cloud, min(bodies, 10**5)).semi_axes)


def fine_voxel(cloud: str, bodies: int) -> float:
    """Where 1 % of the points are astray: their share is proportional to the voxel while that is small."""
    voxel = voxel_of(cloud, bodies)
    return voxel * 0.01 / errors(made(cloud, bodies), voxel).outside


def made(cloud: str, bodies: int):
    cover, decades = CLOUDS[cloud]
    return scattered(bodies, cover=cover, decades=decades)


def file_of(folder: Path, cloud: str, bodies: int) -> Path:
    """The cloud as an uncompressed .npz of float32, written once."""
    path = folder / f"{cloud.replace(' ', '_')}_{bodies}.npz"
    if not path.exists():
        np.savez(path, **made(cloud, bodies)._asdict())
    return path


def growth(sizes: list[int], seconds: list[float]) -> float | None:
    """Exponent of time over size, by least squares on the logarithms."""
    if len(sizes) < 2:
        return None
    return float(np.polyfit([math.log(size) for size in sizes], [math.log(value) for value in seconds], 1)[0])
