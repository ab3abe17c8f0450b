"""Change of size by any ratio, with or without a filter against aliasing."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.boundary import apart
from jaxkit.op import Op
from jaxkit.ranges import size_pair
from jaxkit.warp.frame import Frame
from jaxkit.warp.geometry import Edge, geometric, scaled_extent
from jaxkit.warp.stages import Affine

Array = jax.Array


def resize(*, size: tuple[int, int] = (32, 256), antialias: bool = True) -> Op:
    """Scales the picture to `size` (height, width); a padded picture with its padding, so `valid` scales along.

    With `antialias` a triangular filter as wide as the reduction, renormalised at the edges: what Pillow's BILINEAR
    and `jax.image.resize` do. That is more than coordinates say, so it stands beside a `fuse`, before or after.
    Without, one bilinear read, what OpenCV's INTER_LINEAR does; it can be part of a `fuse`. Enlarging, both are the same.
    uint8 is rounded after rows and after columns.

    Raises:
      ValueError: when built, if `size` is not two positive ints.
    """
    size = size_pair("size", size)

    def move(_, frame: Frame) -> tuple[Affine, Frame]:
        return _stretch(frame.size, size), Frame(size, scaled_extent(frame, size))

    def pixels(_, image: Array, before: Frame, after: Frame) -> Array:
        return _filter(image, size, before.extent, antialias)

    settings = {"alone": Edge("edge"), "pixels": pixels, "fusable": not antialias}
    return geometric("resize", lambda key, spec: (), move, neutral=False, **settings)


def _stretch(before: tuple[int, int], after: tuple[int, int]) -> Affine:
    tall, wide = (new / old for new, old in zip(after, before, strict=True))
    return Affine(jnp.array([[wide, 0.0, (wide - 1) / 2], [0.0, tall, (tall - 1) / 2]], jnp.float32))


def _filter(image: Array, size: tuple[int, int], extent: tuple, antialias: bool) -> Array:
    height, width, channels = image.shape
    down = _taps(height, size[0], extent[0], antialias)
    across = _taps(width, size[1], extent[1], antialias)
    rows = _sum_taps(image.reshape(1, height, width * channels), down[1], places=down[0])
    columns = functools.partial(_sum_taps, places=across[0])
    return apart(columns, rows.reshape(size[0], width, channels), across[1])


def _sum_taps(values: Array, weights: Array, *, places: np.ndarray) -> Array:
    """`[N, L, K]` to `[N, L', K]`: sums over taps along the middle axis, `places` and `weights` `[taps, L']`."""
    total = 0.0
    for tap, weight in zip(_picked(values, places), weights[:, None, :, None], strict=True):
        if values.dtype == jnp.uint8:
            total = total + tap.astype(jnp.float32) * weight
        else:
            # Padding may hold NaN, which no zero weight would hide.
            total = total + jnp.where(weight > 0, tap, 0) * weight.astype(values.dtype)
    return jnp.round(total).astype(jnp.uint8) if values.dtype == jnp.uint8 else total


def _taps(before: int, after: int, true_length, antialias: bool) -> tuple[np.ndarray, Array]:
    """Places and weights of the taps, `[taps, after]` each."""
    ratio = before / after
    support = max(ratio, 1.0) if antialias else 1.0
    centre = (np.arange(after) + 0.5) * ratio - 0.5
    places = np.ceil(centre - support).astype(np.int32) + np.arange(math.floor(2 * support) + 1)[:, None]
    weights = np.maximum(0.0, 1.0 - np.abs(places - centre) / support).astype(np.float32)
    used = weights.any(1)
    places, weights = places[used], jnp.where((places >= 0) & (places < true_length), weights, 0.0)[used]
    return places, weights / jnp.maximum(weights.sum(0, keepdims=True), 1e-6)


def _picked(values: Array, places: np.ndarray) -> list[Array]:
    """Columns at static places `[taps, L']`; evenly spaced ones by strided slices, several times faster than gathers."""
    last, steps = values.shape[1] - 1, np.unique(np.diff(places, axis=1))
    low, high = max(0, -int(places.min())), max(0, int(places.max()) - last)
    if len(steps) != 1 or steps[0] <= 0 or max(low, high) > last:
        return [values.at[:, np.clip(place, 0, last)].get(mode="promise_in_bounds") for place in places]
    padded = jnp.pad(values, ((0, 0), (low, high), (0, 0)), mode="edge")
    return [padded[:, place[0] + low : place[-1] + low + 1 : int(steps[0])] for place in places]
