"""Points that keep a distance from each other: Poisson disks by throwing darts, many at once."""

import math
from typing import NamedTuple

import jax
import numpy as np

from jaxkit.sampling.anchor import Anchor, Array, Position
from jaxkit.sampling.ellipsoids import Cloud
from jaxkit.sampling.union import sample_union

FIRST = 1024
# Squares of differences round: with this margin no distance comes out below the radius, however it is computed.
MARGIN = 1 + 1e-12


class SpacedDraw(NamedTuple):
    """Points of a union, no two nearer than a radius, NumPy arrays on the host, in a random order.

    Attributes:
      position: `Position`, int32 `[n, 3]` and float32 `[n, 3]`.
      source: int32 `[n]`, row of the body that owns the point.
      anchor: frame of the cloud.
      candidates: how many uniform points were tried.
      uncovered: the share of the union that lay farther than the radius from every point before the last round of
        candidates, as that round found; now it is less.
    """

    position: Position
    source: np.ndarray
    anchor: Anchor
    candidates: int
    uncovered: float

    def points(self) -> np.ndarray:
        """`[n, 3]` float32, relative to the origin of the cloud; rounded, so distances may come out 1e-6 less."""
        return self.anchor.relative(self.position).astype(np.float32)

    def to_float64(self) -> np.ndarray:
        """World coordinates `[n, 3]` float64, with distances of at least the radius."""
        return self.anchor.to_float64(self.position)


def poisson_disk(
    key: Array,
    cloud: Cloud,
    *,
    radius: float,
    uncovered: float = 0.01,
    method: str = "auto",
    chunk: int = 2**20,
    mesh: jax.sharding.Mesh | None = None,
    max_candidates: int = 10**8,
) -> SpacedDraw:
    """Points in the union of a cloud, no two nearer than `radius`, until hardly a place is left for another.

    Darts are thrown uniformly into the union, and one sticks if none that stuck before is nearer than `radius` (R. L.
    Cook, "Stochastic sampling in computer graphics", 1986). They come in rounds, each as many as all before, until of
    a whole round at most the share `uncovered` finds a free place.

    Args:
      key: a typed key.
      cloud: the bodies.
      radius: least distance, in units of the world.
      uncovered: the share of the union that may stay farther than `radius` from every point, in (0, 1).
      method, chunk, mesh: as `sample_union`, which throws the darts.
      max_candidates: most darts to throw.

    Raises:
      ValueError: for a radius that is not positive and finite, `uncovered` outside of (0, 1), or a cloud without a
        body.
      RuntimeError: if `max_candidates` leave more than `uncovered` of the union free.
    """
    _check(radius, uncovered)
    world, found = np.zeros((0, 3)), []
    free, tried, count = 1.0, 0, FIRST
    while free > uncovered:
        if tried + count > max_candidates:
            raise RuntimeError(_too_many(radius, free, tried + count, max_candidates))
        draw = sample_union(
            jax.random.fold_in(key, len(found)), cloud, count=count, method=method, chunk=chunk, mesh=mesh
        )
        stuck, free = _throw(draw.to_float64(), world, radius)
        world = np.concatenate([world, draw.to_float64()[stuck]])
        found.append((Position(*(part[stuck] for part in draw.position)), draw.source[stuck]))
        tried += count
        # No more than sqrt(2) / radius^3 balls of this distance fit; far fewer darts cannot fill the union.
        count = max(tried, min(math.ceil(draw.stats.volume / radius**3), max_candidates - tried))
    position, source = jax.tree.map(lambda *leaves: np.concatenate(leaves), *found)
    return SpacedDraw(position, source, cloud.anchor, tried, free)


def thin(key: Array, points: np.ndarray, radius: float) -> np.ndarray:
    """Chooses points, no two nearer than `radius`, such that each of the others is nearer than that to a chosen one.

    The points are taken in a random order, and one is chosen unless an earlier choice is too near: what the obvious
    loop finds, found in rounds.

    Args:
      key: a typed key.
      points: `[M, D]` float64 or float32.
      radius: least distance.

    Returns:
      `[M]` bool.

    Raises:
      ValueError: for a radius that is not positive and finite, or coordinates that are not finite.
    """
    _check(radius, 0.5)
    points = np.asarray(points, np.float64)
    if points.ndim != 2 or not np.isfinite(points).all():
        raise ValueError(f"points must be finite and [M, D], got {list(points.shape)}")
    high, low = np.asarray(jax.random.bits(key, (2, len(points)), np.uint32)).astype(np.uint64)
    order = np.argsort(high << np.uint64(32) | low)
    chosen, done = order[:0], 0
    while done < len(order):
        batch = order[done : max(2 * done, FIRST)]
        stuck, _ = _throw(points[batch], points[chosen], radius)
        chosen, done = np.concatenate([chosen, batch[stuck]]), done + len(batch)
    return np.isin(np.arange(len(points)), chosen)


def _check(radius: float, uncovered: float) -> None:
    if not (math.isfinite(radius) and radius > 0):
        raise ValueError(f"radius must be positive and finite, got {radius!r}")
    if not 0 < uncovered < 1:
        raise ValueError(f"uncovered must be a share in (0, 1), got {uncovered!r}")


def _too_many(radius: float, free: float, next_count: int, most: int) -> str:
    return (
        f"{free:.3g} of the union is farther than {radius} from every point, and {next_count} candidates would be more "
        f"than max_candidates={most}: raise it, the radius, or uncovered"
    )


def _throw(points: np.ndarray, earlier: np.ndarray, radius: float) -> tuple[np.ndarray, float]:
    """Which points `[M, D]` stick, in ascending order, and the share of them with no earlier point within the radius.

    Taken in the order of their rows; one sticks if neither an earlier point nor one that stuck before is too near.
    """
    # SciPy comes with JAX; imported late, for it takes a while.
    from scipy.spatial import cKDTree

    free = np.arange(len(points))
    if len(earlier):
        distance, _ = cKDTree(earlier).query(points, distance_upper_bound=radius * MARGIN, workers=2)
        free = np.flatnonzero(np.isinf(distance))
    pairs = cKDTree(points[free]).query_pairs(radius * MARGIN, output_type="ndarray")
    return free[_first_come(len(free), pairs)], len(free) / len(points)


def _first_come(count: int, pairs: np.ndarray) -> np.ndarray:
    """Of `count` candidates, those that no lower-numbered one that stays excludes; `pairs` `[P, 2]` exclude each other.

    In each round every undecided candidate without a lower undecided rival stays, and its rivals go: the outcome of
    the sequential rule, after a number of rounds that grows like the logarithm of `count` for a random order (G. E.
    Blelloch, J. T. Fineman and J. Shun, "Greedy sequential maximal independent set and matching are parallel on
    average", 2012).
    """
    stays, undecided = np.zeros(count, bool), np.ones(count, bool)
    pairs = np.sort(pairs, 1)
    while len(pairs):
        waits = np.zeros(count, bool)
        waits[pairs[:, 1]] = True
        settled = undecided & ~waits
        undecided &= waits
        undecided[pairs[settled[pairs[:, 0]], 1]] = False
        stays |= settled
        pairs = pairs[undecided[pairs].all(1)]
    return stays | undecided
