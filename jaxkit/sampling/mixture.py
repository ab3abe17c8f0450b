"""Points from every body of a cloud by itself: where bodies overlap, there are as many more of them."""

import math
from typing import NamedTuple

import jax
import numpy as np

from jaxkit.sampling.anchor import Anchor, Array, Position, difference, displaced
from jaxkit.sampling.batches import by_batches
from jaxkit.sampling.drop import Dropped, blocks, drop
from jaxkit.sampling.ellipsoids import Bodies, Cloud
from jaxkit.sampling.shape import rotation, square_radius
from jaxkit.sampling.tally import tally


class MixtureDraw(NamedTuple):
    """Points of a mixture, NumPy arrays on the host, in an order that says nothing.

    Attributes:
      position: `Position`, int32 `[count, 3]` and float32 `[count, 3]`.
      source: int32 `[count]`, row of the body that each point was drawn from.
      anchor: frame of the cloud.
      volume: of all bodies together, every overlap as often as there are bodies; exact to float64.
    """

    position: Position
    source: np.ndarray
    anchor: Anchor
    volume: float

    def points(self) -> np.ndarray:
        """`[count, 3]` float32, relative to the origin of the cloud."""
        return self.anchor.relative(self.position).astype(np.float32)

    def to_float64(self) -> np.ndarray:
        """World coordinates `[count, 3]` float64."""
        return self.anchor.to_float64(self.position)


def sample_mixture(
    key: Array, cloud: Cloud, *, count: int, gaussian: float | None = None, chunk: int = 2**20
) -> MixtureDraw:
    """`count` independent points of the mixture of all bodies, each weighted by its volume.

    The density at a place is proportional to the number of bodies that cover it; `sample_union` counts a place once.

    Args:
      key: a typed key.
      cloud: the bodies.
      count: number of points.
      gaussian: None: uniform in each body. Else the semi-axes are this many standard deviations of a normal
        distribution about the centre, cut off at the surface, and points follow it: what a cloud of splats describes.
        At most 5: beyond, float32 does not resolve the tail.
      chunk: rows of the cloud at a time; no result depends on it.

    Raises:
      ValueError: if `count` is negative, `gaussian` not in (0, 5], or there is no volume to take a point from.
    """
    if count < 0:
        raise ValueError(f"count must be at least 0, got {count}")
    if gaussian is not None and not 0 < gaussian <= 5:
        raise ValueError(f"gaussian must be a number of standard deviations in (0, 5], got {gaussian!r}")
    volume = tally(cloud, chunk=chunk).volume
    if count and not volume > 0:
        raise ValueError(f"no body among {len(cloud)} has a volume: there is nothing to take {count} points from")
    dropped = _enough(key, cloud, count, volume, chunk)
    position = dropped.position if gaussian is None else _condensed(cloud, dropped, gaussian, chunk)
    return MixtureDraw(position, dropped.source, cloud.anchor, volume)


def earliest(dropped: Dropped, count: int) -> Dropped:
    """The `count` points that arrived first, in the order of their arrival: a fair sample of all, fairly shuffled."""
    order = np.argpartition(dropped.tag, count)[:count] if count < len(dropped.tag) else np.arange(len(dropped.tag))
    order = order[np.argsort(dropped.tag[order])]
    return jax.tree.map(lambda leaf: leaf[order], dropped)


def _enough(key: Array, cloud: Cloud, count: int, volume: float, chunk: int) -> Dropped:
    expected = count + 6 * math.sqrt(count)
    dropped = drop(key, cloud, expected / volume if count else 0.0, chunk=chunk)
    while len(dropped.tag) < count:
        expected = 1.5 * expected + 10
        dropped = drop(key, cloud, expected / volume, chunk=chunk)
    return earliest(dropped, count)


def rows_of(cloud: Cloud, source: np.ndarray, *, chunk: int = 2**20) -> Bodies:
    """The bodies of rows `[T]` int32 in any order, NumPy arrays, in one pass over the cloud."""
    order = np.argsort(source, kind="stable")
    in_order, found = source[order], []
    for first, bodies in blocks(cloud, chunk):
        low, high = np.searchsorted(in_order, [first, first + len(bodies.semi_axes)])
        rows = in_order[low:high] - first
        found.append(jax.tree.map(lambda leaf: leaf[rows], bodies))  # noqa: B023
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[back], *found)


def _condensed(cloud: Cloud, dropped: Dropped, deviations: float, chunk: int) -> Position:
    """Points of the balls that the bodies are images of, drawn in towards the centres to follow the normal law.

    The share of a ball within radius r is r^3, that of the truncated normal distribution within t is
    P(3/2, (k t)^2 / 2) / P(3/2, k^2 / 2), P being the regularised incomplete gamma function.
    """
    from scipy.special import gammainc, gammaincinv

    if not len(dropped.source):
        return dropped.position
    bodies, step = rows_of(cloud, dropped.source, chunk=chunk), np.float32(cloud.anchor.step)
    arrays = (*dropped.position, *bodies.center, bodies.semi_axes, bodies.quaternion)
    radius = by_batches(_radius, *arrays, np.full(len(dropped.source), step))
    share = np.clip(radius.astype(np.float64), 2.0**-20, 1.0) ** 3
    target = np.sqrt(2 * gammaincinv(1.5, share * gammainc(1.5, deviations**2 / 2))) / deviations
    factor = (target / np.cbrt(share)).astype(np.float32)
    return Position(*by_batches(_drawn_in, *arrays[:4], factor, np.full(len(factor), step)))


@jax.jit
def _radius(cell, offset, center_cell, center_offset, semi_axes, quaternion, step) -> Array:
    d = difference(Position(cell, offset), Position(center_cell, center_offset), step)
    return square_radius(rotation(quaternion), semi_axes, d) ** 0.5


@jax.jit
def _drawn_in(cell, offset, center_cell, center_offset, factor, step) -> Position:
    center = Position(center_cell, center_offset)
    d = difference(Position(cell, offset), center, step)
    return displaced(center, tuple(part * factor for part in d), step)
