"""The only reads of pixels at computed places: bilinear, nearest, and exact for maps of pixels to pixels.

All take one picture, coordinates `x`, `y` (float32, pixels, broadcastable to the result's `[H', W']`) and the
picture's true `extent` (height, width); whatever a padded picture holds beyond its extent is never used.
"""

import functools
import math

import jax
import jax.numpy as jnp

from jaxkit.boundary import apart
from jaxkit.warp.border import cut, fill_value, fold, inside
from jaxkit.warp.frame import Frame
from jaxkit.warp.lattice import Lattice

Array = jax.Array
LEFT, RIGHT = 1, 2
FRACTION = 256


def read_bilinear(image: Array, x: Array, y: Array, extent: tuple, border: str, fill: float) -> Array:
    """Reads `[H, W, C]` at fractional places, to `[H', W', C]` of the same dtype.

    Floating pictures are read in their own precision and are differentiable in the pixels and the coordinates. uint8 is
    blended in integers at coordinates rounded to 1/256 pixel and agrees with the floating read within one level.
    """
    height, width = (jnp.asarray(length, jnp.float32) for length in extent)
    x, y = jnp.broadcast_arrays(fold(_finite(x), width, border), fold(_finite(y), height, border))
    if image.dtype == jnp.uint8:
        return _read_uint8(_framed(image, extent, border, fill), x, y)
    read = functools.partial(_read_floating, border=border, fill=fill)
    return apart(read, image, x, y, *(jnp.asarray(length, jnp.int32) for length in extent))


def read_nearest(image: Array, x: Array, y: Array, extent: tuple, border: str, fill: float) -> Array:
    """Reads `[H, W, ...]` of any dtype at the nearest pixels, `floor(coordinate + 0.5)`."""
    column, row = (_nearest(v, length, border) for v, length in ((x, extent[1]), (y, extent[0])))
    return _take(image, *jnp.broadcast_arrays(column, row), extent, border, fill)


def read_lattice(image: Array, x: Array, y: Array, extent: tuple, border: str, fill: float, turned: bool) -> Array:
    """Reads `[H, W, ...]` where `x [1, W']` and `y [H', 1]` are whole, or `x [H', 1]` and `y [1, W']` if `turned`.

    Exact for every dtype: rows are taken whole, then columns.
    """
    column, column_in = _index(_nearest(x, extent[1], border).reshape(-1), extent[1], border)
    row, row_in = _index(_nearest(y, extent[0], border).reshape(-1), extent[0], border)
    taken = image.at[row].get(mode="promise_in_bounds").at[:, column].get(mode="promise_in_bounds")
    taken = _filled(taken, row_in[:, None] & column_in[None, :], border, fill)
    return jnp.swapaxes(taken, 0, 1) if turned else taken


def move_known(image: Array, lattice: Lattice, extent: tuple, after: Frame, fill: float) -> Array:
    """`[H, W, ...]` moved by a map that is part of the program, to the size of `after`, the fill around it."""
    value = fill_value(fill, image.dtype)
    image = cut(image, extent, value)
    image = jnp.swapaxes(image, 0, 1) if lattice.turned else image
    backwards = [axis for axis, sign in zip((1, 0), lattice.sign, strict=True) if sign < 0]
    image = jax.lax.rev(image, backwards)
    before = [
        int(offset) if sign > 0 else int(offset) - length + 1
        for length, sign, offset in zip(image.shape[1::-1], lattice.sign, lattice.offset, strict=True)
    ]
    return cut(_padded(image, before[::-1], after.size, value), after.extent, value)


def _padded(image: Array, before: list[int], size: tuple[int, int], value: Array) -> Array:
    """Room before each of the first two axes, negative to cut, and after them to reach `size`."""
    inner = math.prod(image.shape[2:])
    after = [new - old - room for new, old, room in zip(size, image.shape, before, strict=False)]
    # Rows of [W * C] values fill vector registers; [W, 3] would not.
    rows = image.reshape(image.shape[0], -1)
    rows = jax.lax.pad(rows, value, [(before[0], after[0], 0), (before[1] * inner, after[1] * inner, 0)])
    return rows.reshape(*size, *image.shape[2:])


def _finite(position: Array) -> Array:
    return jnp.where(jnp.isnan(position), -1.0, position)


def _nearest(position: Array, length, border: str) -> Array:
    folded = fold(_finite(position), jnp.asarray(length, jnp.float32), border)
    return jnp.floor(folded + 0.5).astype(jnp.int32)


def _index(position: Array, length, border: str) -> tuple[Array, Array]:
    """A folded whole position, or its neighbour, as an index of the picture, and whether it lies inside."""
    length = jnp.asarray(length, jnp.int32)
    index = jnp.where(position >= length, position - length, position) if border == "wrap" else position
    return jnp.clip(index, 0, length - 1), inside(position, length)


def _take(image: Array, column: Array, row: Array, extent: tuple, border: str, fill: float) -> Array:
    column, column_in = _index(column, extent[1], border)
    row, row_in = _index(row, extent[0], border)
    return _filled(image.at[row, column].get(mode="promise_in_bounds"), row_in & column_in, border, fill)


def _filled(taken: Array, keep: Array, border: str, fill: float) -> Array:
    if border != "constant":
        return taken
    return jnp.where(keep.reshape(keep.shape + (1,) * (taken.ndim - 2)), taken, fill_value(fill, taken.dtype))


def _read_floating(image: Array, x: Array, y: Array, *extent: Array, border: str, fill: float) -> Array:
    left, top = jnp.floor(x), jnp.floor(y)
    right_part, lower_part = ((v - low).astype(image.dtype)[..., None] for v, low in ((x, left), (y, top)))
    column, row = left.astype(jnp.int32), top.astype(jnp.int32)
    tap = functools.partial(_take, image, extent=extent, border=border, fill=fill)
    upper = tap(column, row) * (1 - right_part) + tap(column + 1, row) * right_part
    lower = tap(column, row + 1) * (1 - right_part) + tap(column + 1, row + 1) * right_part
    return upper * (1 - lower_part) + lower * lower_part


def _framed(image: Array, extent: tuple, border: str, fill: float) -> Array:
    """The picture in a frame that the taps of every folded coordinate stay inside: `[H + 3, W + 3, C]`."""
    height, width, channels = image.shape
    value = fill_value(fill, image.dtype)
    rows = cut(image, extent, value).reshape(height, width * channels)
    # Concatenated rows pad several times faster on CPUs than jnp.pad.
    side = [jnp.full((height, edge * channels), value) for edge in (LEFT, RIGHT)]
    rows = jnp.concatenate([side[0], rows, side[1]], 1)
    ends = [jnp.full((edge, rows.shape[1]), value) for edge in (LEFT, RIGHT)]
    framed = jnp.concatenate([ends[0], rows, ends[1]], 0).reshape(height + 3, width + 3, channels)
    return _seam(framed, extent) if border == "wrap" else framed


def _seam(framed: Array, extent: tuple) -> Array:
    row = jnp.arange(framed.shape[0])[:, None, None] == extent[0] + LEFT
    framed = jnp.where(row, framed[LEFT : LEFT + 1], framed)
    column = jnp.arange(framed.shape[1])[None, :, None] == extent[1] + LEFT
    return jnp.where(column, framed[:, LEFT : LEFT + 1], framed)


def _read_uint8(framed: Array, x: Array, y: Array) -> Array:
    x, y = (jnp.round((position + LEFT) * FRACTION).astype(jnp.int32) for position in (x, y))
    if framed.shape[0] * framed.shape[1] > 2**16:
        return apart(_blend_fixed, framed, x, y)
    # Both coordinates of a small picture fit in one word: less to store and to read.
    place = (y // FRACTION) * framed.shape[1] + x // FRACTION
    part = (x % FRACTION) * FRACTION + y % FRACTION
    return apart(_blend_packed, framed, place.astype(jnp.uint32) << 16 | part.astype(jnp.uint32))


def _blend_fixed(framed: Array, x: Array, y: Array) -> Array:
    return _four_taps(framed, (y // FRACTION) * framed.shape[1] + x // FRACTION, x % FRACTION, y % FRACTION)


def _blend_packed(framed: Array, packed: Array) -> Array:
    place, part = (packed >> 16).astype(jnp.int32), (packed & 0xFFFF).astype(jnp.int32)
    return _four_taps(framed, place, part // FRACTION, part % FRACTION)


def _four_taps(framed: Array, place: Array, right: Array, lower: Array) -> Array:
    """`[H', W', C]` from the pixels at `place`, beside and below it, by parts of 256 to the right and down."""
    width, pixels = framed.shape[1], framed.reshape(-1, framed.shape[2])
    right, lower = right[..., None], lower[..., None]
    tap = lambda step: pixels.at[place + step].get(mode="promise_in_bounds").astype(jnp.int32)  # noqa: E731
    above = tap(0) * (FRACTION - right) + tap(1) * right
    below = tap(width) * (FRACTION - right) + tap(width + 1) * right
    total = above * (FRACTION - lower) + below * lower
    return ((total + FRACTION * FRACTION // 2) >> 16).astype(jnp.uint8)
