"""Ops that change the size of the picture by whole pixels: crops and padding. Exact."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxkit.op import Op
from jaxkit.ranges import number, size_pair
from jaxkit.warp.frame import Frame
from jaxkit.warp.geometry import Edge, geometric
from jaxkit.warp.lattice import Lattice

Array = jax.Array


def random_crop(*, size: tuple[int, int] = (32, 128)) -> Op:
    """Cuts a window of `size` (height, width) from a place drawn uniformly among those inside the true extent.

    Where the true extent is smaller than the window along an axis, that axis is kept whole and `valid` says so.
    Drawn: `[2]` the place as fractions of the room to the right and below.

    Raises:
      ValueError: when built, if `size` is not two positive ints; when traced, if the picture is smaller than `size`.
    """
    return _crop("random_crop", size, lambda key, spec: jax.random.uniform(key, (2,)), _anywhere, pixels=_window)


def center_crop(*, size: tuple[int, int] = (32, 128)) -> Op:
    """Cuts the window of `size` (height, width) in the middle of the true extent; odd room leaves more below and right.

    Raises:
      ValueError: as `random_crop`.
    """
    return _crop("center_crop", size, lambda key, spec: (), _middle)


def pad_to(*, size: tuple[int, int] = (64, 512), fill: float = 0) -> Op:
    """Enlarges the picture to `size` (height, width), filling below and to the right; `valid` keeps the true extent.

    With the size that the picture already has, it refills the padding. Inside a `fuse`, give the fuse the same fill.

    Raises:
      ValueError: when built, if `size` is not two positive ints or `fill` no finite number; when traced, if the picture
        is larger than `size`, or of integers and cannot hold the fill.
    """
    size, fill = size_pair("size", size), number("fill", fill)

    def move(_, frame):
        _check(frame.size, size, "pad_to", fits=frame.size[0] <= size[0] and frame.size[1] <= size[1])
        return Lattice((1.0, 1.0), (0.0, 0.0)), Frame(size, frame.extent)

    return geometric("pad_to", lambda key, spec: (), move, neutral=False, edge=Edge("constant", fill, 0))


def _crop(name: str, size: tuple[int, int], draw: Callable, choose: Callable, **settings: Any) -> Op:
    size = size_pair("size", size)

    def move(place, frame):
        _check(frame.size, size, name, fits=frame.size[0] >= size[0] and frame.size[1] >= size[1])
        least = _least(frame.extent, size)
        top, left = choose(place, [length - kept for length, kept in zip(frame.extent, least, strict=True)])
        return Lattice((1.0, 1.0), (-left, -top)), Frame(size, least)

    return geometric(name, draw, move, neutral=False, **settings)


def _window(params: tuple, image: Array, before: Frame, after: Frame) -> Array | None:
    if not before.whole():
        return None
    height, width, channels = image.shape
    room = [length - kept for length, kept in zip(before.size, after.size, strict=True)]
    top, left = (start.astype(jnp.int32) for start in _anywhere(params[0], room))
    window = (after.size[0], after.size[1] * channels)
    rows = jax.lax.dynamic_slice(image.reshape(height, width * channels), (top, left * channels), window)
    return rows.reshape(*after.size, channels)


def _anywhere(place: Array, room: list) -> list[Array]:
    room = [jnp.asarray(free, jnp.float32) for free in room]
    # A draw just below 1 can round up to one past the room.
    return [jnp.minimum(jnp.floor(part * (free + 1)), free) for part, free in zip(place, room, strict=True)]


def _middle(_, room: list) -> list:
    return [free // 2 if isinstance(free, int) else (free // 2).astype(jnp.float32) for free in room]


def _least(extent: tuple, size: tuple[int, int]) -> tuple:
    return tuple(
        min(length, limit) if isinstance(length, int) else jnp.minimum(length, limit)
        for length, limit in zip(extent, size, strict=True)
    )


def _check(size: tuple[int, int], wanted: tuple[int, int], name: str, *, fits: bool) -> None:
    if not fits:
        other = "crop or resize" if name == "pad_to" else "pad_to or resize"
        raise ValueError(f"{name} to {wanted} does not suit a picture of {size} (height, width); {other} it first")
