"""Distortion of samples: too few bits, and amplifiers that clip."""

import jax
import jax.numpy as jnp

from jaxkit.audio.extent import inside, length, silenced
from jaxkit.boundary import in_turn
from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval, one_of_names
from jaxkit.records import Clip

Array = jax.Array
Ends = tuple[float, float]
MOST_BITS = 24
KINDS = ("hard", "soft")
FAINTEST = 1e-15


def bit_crush(*, bits: tuple[int, int] = (5, 12)) -> Op:
    """Rounds samples to multiples of `2 ** (1 - bits)`, as if full scale had that many bits. Nothing is clipped.

    Silence stays silence. Derivatives are zero.

    Params: the number of bits, int32.

    Args:
      bits: the least and the greatest number, drawn uniformly; from 1 to 24.

    Raises:
      ValueError: when built, if `bits` is not a pair of ints within [1, 24].
    """
    low, high = interval("bits", bits, least=1, most=MOST_BITS)
    if not all(isinstance(end, int) for end in bits):
        raise ValueError(f"bits must be two ints (low, high), got {bits!r}")
    ends = int(low), int(high) + 1
    return Op(lambda key, spec: jax.random.randint(key, (), *ends), _crushed, name="bit_crush")


def _crushed(bits: Array, clip: Clip) -> Clip:
    clip = silenced(clip)
    crushed = jnp.round(clip.wave.astype(jnp.float32) * _power_of_two(bits - 1)) * _power_of_two(1 - bits)
    return clip.replace(wave=crushed.astype(clip.wave.dtype))


def _power_of_two(exponent: Array) -> Array:
    """Exactly, by its bits: `jnp.exp2` may round."""
    return jax.lax.bitcast_convert_type((exponent.astype(jnp.int32) + 127) << 23, jnp.float32)


def clip(*, percent: Ends | None = None, level: Ends | None = None, kind: str = "hard") -> Op:
    """Limits the magnitude of samples, by what share of them is to be limited, or at a level.

    Params: the percentage, or the level.

    Args:
      percent: ends of the uniform draw of the percentage of a clip's samples that are at or above the limit, at most
        100; (0, 20) if `level` is not given either. With 0 nothing changes where the kind is `hard`.
      level: ends of the uniform draw of the limit, as a fraction of full scale.
      kind: `hard` cuts what is beyond the limit; `soft` bends towards it, `limit * tanh(wave / limit)`.

    Raises:
      ValueError: when built, if both ranges are given, or one is not a finite (low, high) within [0, 100] or positive;
        or the kind is unknown.
    """
    if percent is not None and level is not None:
        raise ValueError(f"clip takes percent or level, got both: {percent!r} and {level!r}")
    if level is not None:
        ends = interval("level", level, least=FAINTEST)
    else:
        ends = interval("percent", (0.0, 20.0) if percent is None else percent, least=0.0, most=100.0)
    limited = {"hard": _hard, "soft": _soft}[one_of_names("kind", kind, KINDS)]

    def apply(drawn: Array, clip: Clip) -> Clip:
        clip = silenced(clip)
        wave = clip.wave.astype(jnp.float32)
        limit = quantile(clip, 1 - drawn / 100) if level is None else drawn
        return clip.replace(wave=limited(wave, jnp.maximum(limit, FAINTEST)).astype(clip.wave.dtype))

    # At zero percent the limit is the loudest sample.
    neutral = level is None and kind == "hard"
    return Op(lambda key, spec: draw_uniform(key, ends), apply, name="clip", neutral=neutral)


def _hard(wave: Array, limit: Array) -> Array:
    return jnp.clip(wave, -limit, limit)


def _soft(wave: Array, limit: Array) -> Array:
    return limit * jnp.tanh(wave / limit)


def quantile(clip: Clip, share: Array) -> Array:
    """The least magnitude that at least a share of the valid samples do not exceed; 0 for a clip without samples.

    Args:
      clip: one clip.
      share: scalar from 0 to 1.

    Returns:
      A float32 scalar, the magnitude of one of the samples, found without sorting them.
    """
    clip = silenced(clip)
    if clip.wave.shape[0] == 0:
        return jnp.float32(0.0)
    magnitude = jnp.where(inside(clip), jnp.abs(clip.wave.astype(jnp.float32)), jnp.inf)
    count = jnp.asarray(length(clip), jnp.float32)
    rank = jnp.ceil(jax.lax.stop_gradient(share) * count).astype(jnp.int32)
    rank = jnp.clip(rank, 1, jnp.maximum(jnp.asarray(length(clip), jnp.int32), 1))
    found = in_turn(_ranked, jax.lax.stop_gradient(magnitude), rank)
    # One of the samples, rather than a bit pattern, so that there is a derivative.
    return jnp.max(jnp.where(inside(clip) & (magnitude <= found), magnitude, 0.0), initial=0.0)


def _ranked(magnitude: Array, rank: Array) -> Array:
    """The `rank`-th smallest of non-negative floats, whose order is that of their bits: a bisection over those."""
    bits = jax.lax.bitcast_convert_type(magnitude, jnp.int32)

    def halve(step: int, least: Array) -> Array:
        # The least pattern that `rank` samples do not exceed, from the highest bit down.
        below = least + (1 << (30 - step)) - 1
        return jnp.where(jnp.sum(bits <= below, dtype=jnp.int32) >= rank, least, below + 1)

    return jax.lax.bitcast_convert_type(jax.lax.fori_loop(0, 31, halve, jnp.int32(0)), jnp.float32)
