"""Uniform points from the union of many ellipsoids: rejection and voxels, against jaxkit's exact sampling."""

from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec

import jax
import numpy as np

from jaxkit.port import Case, Limits, Port, Request, SameDistribution, Table

from . import clouds, slow, voxels
from .analytic import Analytic
from .discretisation import errors, voxel_size
from .distribution import LABELS, Inside, fast_points, outside, slow_points
from .fast import sample

POINTS = 20_000
NUMPY_VOXELS, BIT_ARRAY = "voxels, NumPy", "bit array, PyTorch"
UTM = (500_000.0, 5_300_000.0, 400.0)


def seeded(key: jax.Array) -> int:
    """The key as a number, for generators that are not JAX's."""
    high, low = (int(word) for word in jax.random.key_data(key))
    return (high << 32 | low) % 2**63


def one_by_one(key: jax.Array, center: np.ndarray, semi_axes: np.ndarray, quaternion: np.ndarray, count: int):
    return slow.sample(np.random.default_rng(seeded(key)), center, semi_axes, quaternion, count)


def by_voxels(key: jax.Array, center: np.ndarray, semi_axes: np.ndarray, quaternion: np.ndarray, count: int):
    rng, voxel = np.random.default_rng(seeded(key)), voxel_size(semi_axes)
    return voxels.sample(rng, center, semi_axes, quaternion, count, voxel=voxel)


def alternatives() -> dict[str, Callable]:
    """Voxels at 1 % error of a body's volume; the bit array where PyTorch is installed."""
    programs = {NUMPY_VOXELS: by_voxels}
    if find_spec("torch"):
        from . import bit_array

        def by_bits(key: jax.Array, center: np.ndarray, semi_axes: np.ndarray, quaternion: np.ndarray, count: int):
            voxel = voxel_size(semi_axes)
            return bit_array.sample(seeded(key), center, semi_axes, quaternion, count, voxel=voxel)

        programs[BIT_ARRAY] = by_bits
    return programs


def cases(request: Request) -> list[Case]:
    """`(key, center, semi_axes, quaternion, count)`: clouds that are easy to get wrong."""
    made = {
        "300 ellipsoids": clouds.scattered(300, seed=request.seed),
        "heavy overlap": clouds.scattered(300, cover=20.0, seed=request.seed),
        "one ball": clouds.balls([[3, -2, 1]], [0.5]),
        "sizes over four decades": clouds.scattered(300, decades=4.0, seed=request.seed),
        "flakes and needles": flat(clouds.scattered(100, seed=request.seed)),
        "coordinates of a map": far(clouds.scattered(100, seed=request.seed)),
    }
    count = 2000 if request.quick else 20_000
    return [Case(name, (jax.random.key(request.seed), *rows, count)) for name, rows in made.items()]


def flat(rows: clouds.Rows) -> clouds.Rows:
    """The same bodies, a thousand times thinner along one axis or two."""
    thin = np.ones_like(rows.semi_axes)
    thin[:, 0] = 1e-3
    thin[::2, 1] = 1e-3
    return rows._replace(semi_axes=rows.semi_axes * thin)


def far(rows: clouds.Rows) -> clouds.Rows:
    """The same bodies where float32 cannot tell apart places closer than half a unit."""
    return rows._replace(center=rows.center + np.array(UTM))


@cache
def cloud(size: int, seed: int) -> clouds.Rows:
    return clouds.scattered(size, seed=seed)


def inputs(size: int, request: Request) -> tuple:
    """`size` ellipsoids with a mean cover of 1.3; the number of points is always the same."""
    return jax.random.key(request.seed), *cloud(size, request.seed), POINTS


def tables(request: Request) -> list[Table]:
    """What the voxels get wrong, by arithmetic and by points."""
    return [by_size(request), by_side(request)]


def by_size(request: Request) -> Table:
    rows = cloud(1000, request.seed)
    wanted = (0.03, 0.01, 0.003) if request.quick else (0.03, 0.01, 0.003, 0.001)
    found = [(voxel_size(rows.semi_axes, error), errors(rows, voxel_size(rows.semi_axes, error))) for error in wanted]
    cells = [(f"{voxel:.3f}", *(f"{value:.2%}" for value in one[:3])) for voxel, one in found]
    columns = ("voxel", "error of a body's volume", "of its points outside", "of the union missed")
    return Table("Voxels for bodies of mean radius 1: the centre rule", columns, tuple(cells))


def by_side(request: Request) -> Table:
    rows = cloud(1000, request.seed)
    sides = {"one by one": partial(one_by_one, count=2000), "jaxkit": partial(sample, count=POINTS)}
    sides |= {name: partial(side, count=POINTS) for name, side in alternatives().items()}
    points = {name: np.asarray(side(jax.random.key(request.seed + 1), *rows)) for name, side in sides.items()}
    cells = tuple((name, f"{outside(made, rows):.2%}") for name, made in points.items())
    return Table("Points that lie in no ellipsoid, in float64", ("side", "share"), cells, "1000 ellipsoids")


PORT = Port(
    name="ellipsoid_union",
    claim="Exactly uniform points from the union of any number of ellipsoids, without a grid of the space.",
    reference=one_by_one,
    rewrite=sample,
    cases=cases,
    agreement=(
        Inside(),
        Analytic(),
        SameDistribution(slow_points, fast_points, LABELS, 30_000),
    ),
    inputs=inputs,
    sizes=(1_000, 10_000, 100_000),
    reference_sizes=(1_000,),
    alternatives=alternatives(),
    limits=Limits(compilations=None, host_syncs=None, speedup=300.0),
    tables=tables,
    deviations=(
        "Places within about a millionth of an ellipsoid's radius from its surface may fall on the wrong side of it: "
        "jaxkit tests in float32, relative to the ellipsoid.",
        "The voxel programs are not exact: at 1 % error of a body's volume about a twelfth of their points lie in no "
        "ellipsoid (the table says how many).",
    ),
)
