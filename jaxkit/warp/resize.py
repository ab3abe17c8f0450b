"""Change of size by any ratio, with or without a filter against aliasing."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.boundary import apart
from jaxkit.op import Op
from jaxkit.ranges import flag, size_pair
from jaxkit.warp.frame import Frame
from jaxkit.warp.geometry import Edge, geometric, scaled_extent
from jaxkit.warp.stages import Affine

Array = jax.Array
MOST_PHASES = 8


def resize(*, size: tuple[int, int] = (32, 256), antialias: bool = True) -> Op:
    """Scales the picture to `size` (height, width); a padded picture with its padding, so `valid` scales along.

    With `antialias` a triangular filter as wide as the reduction, renormalised at the edges: what Pillow's BILINEAR
    and `jax.image.resize` do. That is more than coordinates say, so it stands beside a `fuse`, before or after.
    Without, one bilinear read, what OpenCV's INTER_LINEAR does; it can be part of a `fuse`. Enlarging, both are equal.
    uint8 is rounded after rows and after columns.

    Raises:
      ValueError: when built, if `size` is not two positive ints or `antialias` not a bool.
    """
    size, antialias = size_pair("size", size), flag("antialias", antialias)

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
    before, after = values.shape[1], places.shape[1]
    phases = after // math.gcd(before, after)
    if phases > MOST_PHASES:
        return _weighted(values, weights, [np.clip(place, 0, before - 1) for place in places])
    # Every so many columns the pattern repeats: slices with a stride, several times faster than gathers.
    low, high = max(0, -int(places.min())), max(0, int(places.max()) - before + 1)
    padded = jnp.pad(values, ((0, 0), (low, high), (0, 0)), mode="edge")
    parts = [
        _weighted(padded, weights[:, phase::phases], [_strided(place[phase::phases] + low) for place in places])
        for phase in range(phases)
    ]
    return jnp.stack(parts, 2).reshape(values.shape[0], after, values.shape[2])


def _strided(places: np.ndarray) -> slice:
    step = int(places[1] - places[0]) if len(places) > 1 else 1
    return slice(int(places[0]), int(places[-1]) + 1, step)


def _weighted(values: Array, weights: Array, taps: list) -> Array:
    total = 0.0
    for tap, weight in zip(taps, weights[:, None, :, None], strict=True):
        taken = values[:, tap] if isinstance(tap, slice) else values.at[:, tap].get(mode="promise_in_bounds")
        if values.dtype == jnp.uint8:
            total = total + taken.astype(jnp.float32) * weight
        else:
            # Padding may hold NaN, which no zero weight would hide.
            total = total + jnp.where(weight > 0, taken, 0) * weight.astype(values.dtype)
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
