"""Checks of a recipe's ranges, made once when an op is built."""

import math
from typing import Any

import jax


def interval(where: str, value: Any, *, least: float = -math.inf, most: float = math.inf) -> tuple[float, float]:
    """`value` as a finite `(low, high)` pair of floats with `least <= low <= high <= most`.

    Raises:
      ValueError: if it is not; the message names `where` and the value.
    """
    try:
        low, high = (float(end) for end in value)
    except (TypeError, ValueError):
        raise ValueError(f"{where} must be a pair (low, high), got {value!r}") from None
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"{where} must be finite with low <= high, got {value!r}")
    if low < least or high > most:
        raise ValueError(f"{where} must lie within [{least:g}, {most:g}], got {value!r}")
    return low, high


def number(where: str, value: Any) -> float:
    """`value`, a finite number.

    Raises:
      ValueError: if it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{where} must be one finite number, got {value!r}")
    return value


def probability(where: str, value: Any) -> float:
    """`value` as a float in [0, 1].

    Raises:
      ValueError: if it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise ValueError(f"{where} must be a probability in [0, 1], got {value!r}")
    return float(value)


def flag(where: str, value: Any) -> bool:
    """`value`, True or False.

    Raises:
      ValueError: if it is neither, such as a text or a number.
    """
    if not isinstance(value, bool):
        raise ValueError(f"{where} must be True or False, got {value!r}")
    return value


def size_pair(where: str, value: Any, *, least: int = 1) -> tuple[int, int]:
    """`value` as a `(height, width)` pair of ints of at least `least`.

    Raises:
      ValueError: if it is not.
    """
    good = isinstance(value, tuple | list) and len(value) == 2 and all(type(n) is int and n >= least for n in value)
    if not good:
        raise ValueError(f"{where} must be (height, width), two ints of at least {least}, got {value!r}")
    return value[0], value[1]


def one_of_names(where: str, value: Any, names: tuple[str, ...]) -> str:
    """`value`, one of `names`.

    Raises:
      ValueError: if it is not.
    """
    if value not in names:
        raise ValueError(f"{where} must be one of {', '.join(names)}, got {value!r}")
    return value


def draw_uniform(key: jax.Array, ends: tuple[float, float], shape: tuple[int, ...] = ()) -> jax.Array:
    """Uniform float32 draws between the ends of an interval."""
    return jax.random.uniform(key, shape, minval=ends[0], maxval=ends[1])
