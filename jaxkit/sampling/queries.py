"""Questions about places: whether a cloud covers them, how often, and which body owns them."""

import jax
import numpy as np

from jaxkit.sampling.anchor import Position
from jaxkit.sampling.ellipsoids import Cloud
from jaxkit.sampling.join import covers, joined
from jaxkit.sampling.pairs import NOBODY
from jaxkit.sampling.shelf import Shelf


def contains(
    cloud: Cloud, world: np.ndarray, *, chunk: int = 2**20, mesh: jax.sharding.Mesh | None = None
) -> np.ndarray:
    """Whether places lie in the union of a cloud, surfaces included, bool `[M]`.

    Args:
      cloud: the bodies.
      world: `[M, 3]` float64 world coordinates.
      chunk: bodies that are read at once.
      mesh: devices that share the bodies.

    Raises:
      ValueError: for places of another shape, or that are not finite or too far away.
    """
    return count_covering(cloud, world, chunk=chunk, mesh=mesh) > 0


def count_covering(
    cloud: Cloud, world: np.ndarray, *, chunk: int = 2**20, mesh: jax.sharding.Mesh | None = None
) -> np.ndarray:
    """How many bodies of a cloud cover each of `[M, 3]` places, int32 `[M]`. As `contains`."""
    return covers(cloud, _placed(cloud, world), chunk=chunk, mesh=mesh)


def owner(
    cloud: Cloud, place: np.ndarray | Position, *, chunk: int = 2**20, mesh: jax.sharding.Mesh | None = None
) -> np.ndarray:
    """The body that owns each place, int32 `[M]`, -1 where there is none.

    That is the first of the bodies that cover it, in the order of `levels`, larger before smaller, then of rows.

    Args:
      cloud: the bodies.
      place: `[M, 3]` float64 world coordinates, or a `Position` of the cloud's frame.
      chunk: bodies that are read at once.
      mesh: devices that share the bodies.

    Raises:
      ValueError: as `contains`.
    """
    position = place if isinstance(place, Position) else _placed(cloud, place)
    nothing = np.zeros(len(position.cell), np.int32)
    shelf = Shelf(cloud.anchor.step, position, nothing, nothing, "owner", mesh)
    found = np.full(len(nothing), -1, np.int32)
    above = np.full(len(nothing), -1, np.int32)
    for level, index, first in joined(cloud, shelf, chunk, None):
        better = first < NOBODY
        # Parts of long bodies were looked up in another grid than whole bodies of their level.
        same = level == above[index]
        better &= (level > above[index]) | (same & (first < found[index]))
        found[index[better]], above[index[better]] = first[better], level
    return found


def _placed(cloud: Cloud, world: np.ndarray) -> Position:
    world = np.asarray(world)
    if world.ndim != 2 or world.shape[1] != 3:
        raise ValueError(f"places must be of shape [M, 3], not {list(world.shape)}")
    try:
        return cloud.anchor.place(world)
    except ValueError as error:
        wrong = np.flatnonzero(~np.isfinite(world).all(1))
        first = f"; the first that is not finite is row {wrong[0]}" if len(wrong) else ""
        raise ValueError(f"{error}{first}") from None
