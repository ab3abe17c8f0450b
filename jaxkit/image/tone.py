"""Pointwise ops: each value becomes another, whatever its place. Any number of them is one table lookup for uint8."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxkit.boundary import apart
from jaxkit.op import Op, joined_draw
from jaxkit.ranges import draw_uniform, interval, probability
from jaxkit.records import Sample

Array = jax.Array
Curve = Callable[[Any, Array], Array]


@dataclasses.dataclass(frozen=True)
class Tone:
    """The `apply` of a pointwise op. Its params are one entry of drawn values per curve.

    Attributes:
      curves: `(values, levels) -> levels` on floating levels in [0, 1]; results may leave the range.
    """

    curves: tuple[Curve, ...]

    def __call__(self, params: tuple, sample: Sample) -> Sample:
        """Maps the image `[H, W, C]`; floating pictures by the curves themselves, uint8 by a table of 256 entries."""
        if sample.image.dtype != jnp.uint8:
            return sample.replace(image=self._map(params, sample.image))
        rows = sample.image.reshape(sample.image.shape[0], -1)
        return sample.replace(image=apart(_look_up, self._table(params), rows).reshape(sample.image.shape))

    def _map(self, params: tuple, levels: Array) -> Array:
        for curve, values in zip(self.curves, params, strict=True):
            levels = jnp.clip(curve(values, levels), 0, 1).astype(levels.dtype)
        return levels

    def _table(self, params: tuple) -> Array:
        """Curves composed exactly: rounding after each, as when they are applied one after the other."""
        table = jnp.arange(256, dtype=jnp.uint8)
        for curve, values in zip(self.curves, params, strict=True):
            table = to_uint8(curve(values, table.astype(jnp.float32) / 255.0) * 255.0)
        return table


def _look_up(table: Array, places: Array) -> Array:
    return table.at[places].get(mode="promise_in_bounds")


def to_uint8(values: Array) -> Array:
    """Floating values on the scale of 255 to uint8: clipped, then rounded half to even."""
    return jnp.round(jnp.clip(values, 0.0, 255.0)).astype(jnp.uint8)


def tone(*ops: Op) -> Op:
    """Composes pointwise ops into one that looks every value up once, with the bits of `chain(*ops)`.

    Raises:
      ValueError: when built, if a member is not pointwise.
    """
    draw = joined_draw(*ops)
    for op in ops:
        if not isinstance(op.apply, Tone):
            raise ValueError(f"tone takes pointwise ops; {op.name!r} is none. Put it beside the tone in a chain")
    curves = sum((op.apply.curves for op in ops), ())
    return Op(draw, Tone(curves), name="tone", neutral=all(op.neutral for op in ops))


def pointwise(name: str, draw: Callable[[Array], Any], curve: Curve) -> Op:
    """An op from a draw of values, zero being the identity, and a curve of (values, levels in [0, 1])."""
    return Op(lambda key, spec: (draw(key),), Tone((curve,)), name=name, neutral=True)


def brightness_contrast(
    *, brightness: tuple[float, float] = (-0.2, 0.2), contrast: tuple[float, float] = (0.8, 1.2)
) -> Op:
    """Scales about mid grey and shifts: `(v - 0.5) * contrast + 0.5 + brightness`, v in [0, 1].

    Both are drawn uniformly and on their own; the drawn contrast is the factor minus one.

    Raises:
      ValueError: when built, if `brightness` is no (low, high) within [-1, 1], or `contrast` no non-negative one.
    """
    shifts = interval("brightness", brightness, least=-1.0, most=1.0)
    low, high = interval("contrast", contrast, least=0.0)

    def draw(key):
        shift_key, gain_key = jax.random.split(key)
        return draw_uniform(shift_key, shifts), draw_uniform(gain_key, (low - 1.0, high - 1.0))

    def curve(values, levels):
        shift, excess = (value.astype(levels.dtype) for value in values)
        return levels + (levels - 0.5) * excess + shift

    return pointwise("brightness_contrast", draw, curve)


def gamma(*, exponent: tuple[float, float] = (0.7, 1.5)) -> Op:
    """Raises values in [0, 1] to a power drawn uniformly; above 1 darkens. The drawn value is the power minus one.

    Raises:
      ValueError: when built, if `exponent` is not a (low, high) of positive numbers.
    """
    low, high = interval("exponent", exponent, least=1e-3)
    return pointwise("gamma", functools.partial(draw_uniform, ends=(low - 1.0, high - 1.0)), _power)


def invert(*, p: float = 0.5) -> Op:
    """Exchanges dark and light, `1 - v`, with probability `p`.

    Raises:
      ValueError: when built, if `p` is outside [0, 1].
    """
    chance = probability("p", p)
    return pointwise("invert", lambda key: jax.random.bernoulli(key, chance), _negative)


def _power(excess: Array, levels: Array) -> Array:
    # Zero has no finite slope under powers below one; taking the power of one instead keeps gradients finite.
    safe = jnp.where(levels > 0, levels, 1)
    return jnp.where(levels > 0, levels * safe ** excess.astype(levels.dtype), 0)


def _negative(hit: Array, levels: Array) -> Array:
    return jnp.where(hit, 1 - levels, levels)
