"""Ops on the shape of a text line."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval, one_of_names
from jaxkit.warp import Frame, geometric

Array = jax.Array
KINDS = ("arc", "sine")


class Lift(NamedTuple):
    """A coordinate stage that raises each column of the picture by `rise` pixels, a function of its place in [0, 1]."""

    rise: Array
    period: Array
    phase: Array
    width: Array
    kind: str

    def push(self, x: Array, y: Array) -> tuple[Array, Array]:
        return x, y - self._at(x)

    def pull(self, x: Array, y: Array) -> tuple[Array, Array]:
        return x, y + self._at(x)

    def _at(self, x: Array) -> Array:
        along = jnp.clip((x + 0.5) / self.width, 0.0, 1.0)
        if self.kind == "arc":
            return self.rise * (4.0 * along * (1.0 - along))
        return self.rise * jnp.sin(2.0 * math.pi * (along * self.period + self.phase))


def curve(
    *, height: tuple[float, float] = (-0.1, 0.1), kind: str = "arc", periods: tuple[float, float] = (0.5, 1.5)
) -> Op:
    """Bends the baseline of a text line; letters stay upright, and points follow exactly. It can be part of a `fuse`.

    Args:
      height: how far the line rises, as a fraction of the picture's height; negative sags. Drawn uniformly.
      kind: `arc`, a parabola with its top in the middle and its feet at the ends, or `sine`, a wave of random phase.
      periods: waves along the line under `sine`. Drawn uniformly.

    Raises:
      ValueError: when built, if a range is no finite (low, high), `periods` has negative ends, or the kind is unknown.
    """
    rises = interval("height", height, least=-1.0, most=1.0)
    waves = interval("periods", periods, least=0.0)
    one_of_names("kind", kind, KINDS)

    def draw(key, spec):
        keys = jax.random.split(key, 3)
        return tuple(draw_uniform(k, ends) for k, ends in zip(keys, (rises, waves, (0.0, 1.0)), strict=True))

    def move(values: tuple, frame: Frame) -> tuple[Lift, Frame]:
        rise, period, phase = values
        tall, wide = (jnp.asarray(length, jnp.float32) for length in frame.extent)
        return Lift(rise * tall, period, phase, wide, kind), frame

    return geometric("curve", draw, move)
