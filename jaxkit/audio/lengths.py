"""How many samples a clip has at another rate, in integers."""

import math

import jax
import jax.numpy as jnp

from jaxkit.ranges import one_of_names

Array = jax.Array
MODES = ("ceil", "round", "floor")
HIGHEST_RATE = 1 << 22
DIGIT = 8


def output_length(samples: int | Array, from_rate: int, to_rate: int, *, mode: str = "ceil") -> int | Array:
    """How many samples there are after a change of rate: `samples * to_rate / from_rate`, rounded.

    Exact for any int, and for any int32 array whose result is an int32.

    Args:
      samples: an int, or int32 values.
      from_rate: the rate in Hz that they have.
      to_rate: the rate in Hz that they shall have.
      mode: `ceil` (torchaudio), `round` (half up: soxr, sox) or `floor`.

    Returns:
      An int for an int, else int32 values.

    Raises:
      ValueError: if a rate is no positive integer below 2**22, or the mode is unknown.
    """
    mode = one_of_names("mode", mode, MODES)
    for rate in (from_rate, to_rate):
        if type(rate) is not int or not 0 < rate < HIGHEST_RATE:
            raise ValueError(f"a sample rate is a positive integer below {HIGHEST_RATE} Hz, got {rate!r}")
    common = math.gcd(from_rate, to_rate)
    up, down = to_rate // common, from_rate // common
    whole, rest = divmod(samples * up, down) if isinstance(samples, int) else _product_over(samples, up, down)
    if mode == "floor":
        return whole
    more = (rest > 0) if mode == "ceil" else (2 * rest >= down)
    return whole + (int(more) if isinstance(samples, int) else more.astype(jnp.int32))


def _product_over(samples: Array, up: int, down: int) -> tuple[Array, Array]:
    """Quotient and remainder of `samples * up / down`, digit after digit, so that nothing leaves 32 bits."""
    rest = samples % down
    whole, carried = jnp.zeros_like(rest), jnp.zeros_like(rest)
    digits = -(-max(down - 1, 1).bit_length() // DIGIT)
    for place in reversed(range(digits)):
        digit = (rest >> (DIGIT * place)) & ((1 << DIGIT) - 1)
        carried = (carried << DIGIT) + digit * up
        whole, carried = (whole << DIGIT) + carried // down, carried % down
    return (samples // down) * up + whole, carried
