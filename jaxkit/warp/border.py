"""What lies beyond the picture: five rules, as maps of coordinates back into it."""

import jax
import jax.numpy as jnp

from jaxkit.warp.frame import Frame

Array = jax.Array
BORDERS = ("constant", "edge", "reflect101", "reflect", "wrap")


def fold(position: Array, length: Array, border: str) -> Array:
    """Maps a coordinate along one axis to the place whose value the border rule repeats.

    Args:
      position: float32 coordinates in pixels, pixel centres at integers.
      length: float32 scalar, the number of pixels along the axis.
      border: names and meanings as in OpenCV: `edge` aaa|abc|ccc, `reflect101` cb|abc|ba, `reflect` ba|abc|cb,
        `wrap` bc|abc|ab. `constant` keeps coordinates up to one pixel outside, where the fill takes over.

    Returns:
      Coordinates in [0, length - 1]; `wrap` up to (not including) length; `constant` in [-1, length].
    """
    last = length - 1.0
    if border == "constant":
        return jnp.clip(position, -1.0, length)
    if border == "edge":
        return jnp.clip(position, 0.0, last)
    if border == "wrap":
        return _modulo(position, length)
    if border == "reflect101":
        period = jnp.maximum(2.0 * last, 1.0)
        return jnp.clip(last - jnp.abs(_modulo(position, period) - last), 0.0, last)
    inside = length - jnp.abs(_modulo(position + 0.5, 2.0 * length) - length) - 0.5
    return jnp.clip(inside, 0.0, last)


def fill_value(fill: float, dtype: jnp.dtype) -> Array:
    """A fill as a scalar of the picture's dtype.

    Raises:
      ValueError: when traced, if an integer picture cannot hold it.
    """
    if jnp.issubdtype(dtype, jnp.integer):
        limits = jnp.iinfo(dtype)
        if fill != int(fill) or not limits.min <= fill <= limits.max:
            raise ValueError(f"a picture of {dtype} is filled with a whole number that it can hold, not {fill!r}")
    return jnp.asarray(fill, dtype)


def cut(image: Array, extent: tuple, value: Array) -> Array:
    """The picture `[H, W, ...]` with one value beyond its true extent (height, width)."""
    if Frame(image.shape[:2], extent).whole():
        return image
    row, column = jnp.arange(image.shape[0]) < extent[0], jnp.arange(image.shape[1]) < extent[1]
    keep = (row[:, None] & column[None, :]).reshape(image.shape[:2] + (1,) * (image.ndim - 2))
    return jnp.where(keep, image, value)


def inside(position: Array, length: Array) -> Array:
    """Whether integer coordinates lie in the picture, along one axis."""
    return (position >= 0) & (position < length)


def _modulo(position: Array, period: Array) -> Array:
    rest = position - period * jnp.floor(position / period)
    return jnp.where(rest >= period, 0.0, rest)
