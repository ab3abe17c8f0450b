"""The same points with jaxkit: exact, without a grid of the space, for any number of ellipsoids.

    cloud = Ellipsoids.from_axes(center, semi_axes, quaternion)  # or open_cloud("cloud.npz"), which may exceed memory
    draw = sample_union(jax.random.key(0), cloud, count=1_000_000)
    draw.to_float64()  # [1_000_000, 3] world coordinates
    draw.source, draw.stats.volume  # the ellipsoid that each point belongs to; the volume of the union

`slow.py` holds the program that it replaces.
"""

import jax
import numpy as np

from jaxkit.sampling import Ellipsoids, sample_union


def sample(key: jax.Array, center: np.ndarray, semi_axes: np.ndarray, quaternion: np.ndarray, count: int) -> np.ndarray:
    """`count` points `[count, 3]` float64, uniform in the union."""
    cloud = Ellipsoids.from_axes(center, semi_axes, quaternion)
    return sample_union(key, cloud, count=count).to_float64()
