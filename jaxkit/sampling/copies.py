"""Rows of a cloud that say the same as an earlier row."""

import dataclasses
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.sampling.anchor import Anchor, Array
from jaxkit.sampling.batches import by_batches
from jaxkit.sampling.drop import THREADS, blocks, mapped
from jaxkit.sampling.ellipsoids import Bodies, Cloud

FACTORS = (0x2C1B3C6D, 0x297A2D39)


@dataclasses.dataclass(frozen=True)
class Distinct:
    """A cloud in which the rows `copies`, sorted, are no bodies."""

    cloud: Cloud
    copies: np.ndarray

    @property
    def anchor(self) -> Anchor:
        return self.cloud.anchor

    def __len__(self) -> int:
        return len(self.cloud)

    def chunks(self, rows: int) -> Iterator[tuple[int, Bodies]]:
        """As of the cloud, with zeros for the semi-axes of copies."""
        for first, bodies in self.cloud.chunks(rows):
            axes = np.asarray(bodies.semi_axes)
            low, high = np.searchsorted(self.copies, [first, first + len(axes)])
            if high > low:
                axes = axes.copy()
                axes[self.copies[low:high] - first] = 0
            yield first, bodies._replace(semi_axes=axes)


def without_copies(cloud: Cloud, *, chunk: int = 2**20) -> Cloud:
    """The cloud with bodies of which an earlier row has the very same numbers left out; rows keep their numbers.

    Rows are told apart by 64 bits made of their numbers: two of 3e7 rows look alike by chance once in 40 000 clouds.
    """
    with ThreadPoolExecutor(THREADS) as pool:
        marks = list(mapped(pool, lambda block: _mark(block[1]), blocks(cloud, chunk)))
    mark = np.concatenate([np.zeros(0, np.uint64), *marks])
    ordered = np.sort(mark)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return cloud
    alike = np.flatnonzero(np.isin(mark, twice))
    _, first = np.unique(mark[alike], return_index=True)
    return Distinct(cloud, np.delete(alike, first))


def _mark(bodies: Bodies) -> np.ndarray:
    high, low = by_batches(_words, *bodies.center, bodies.semi_axes, bodies.quaternion)
    return high.astype(np.uint64) << np.uint64(32) | low


@jax.jit
def _words(cell: Array, offset: Array, semi_axes: Array, quaternion: Array) -> tuple[Array, Array]:
    """Two words for each row; a ball is the same ball however it is turned."""
    is_ball = (semi_axes[:, 0] == semi_axes[:, 1]) & (semi_axes[:, 0] == semi_axes[:, 2])
    quaternion = jnp.where(is_ball[:, None], jnp.float32(0), quaternion)
    high = low = jnp.zeros(len(cell), jnp.uint32)
    for leaf in (cell, offset, semi_axes, quaternion):
        for column in jax.lax.bitcast_convert_type(leaf, jnp.uint32).T:
            high = (high ^ column) * jnp.uint32(FACTORS[0])
            high = high ^ (high >> 15)
            low = (low + column) * jnp.uint32(FACTORS[1])
            low = low ^ (low >> 13)
    return high, low
