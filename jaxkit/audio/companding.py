"""The two laws by which telephones put samples into 8 bits: ITU-T G.711.

Magnitudes are in 16-bit units: full scale is 32768. Where a sample lies on a decision value, and everywhere else, the
codes are those of the ITU's own software (G.191) for 16-bit samples; samples between integers are decided as they are.
"""

import jax
import jax.numpy as jnp

from jaxkit.audio.extent import silenced
from jaxkit.op import Op, stateless
from jaxkit.records import Clip

Array = jax.Array
FULL_SCALE = 32768.0
MU_BIAS = 132
MU_TOP = 32767 - MU_BIAS
A_INVERTED = 0x55
SIGN = 0x80


def encode_mu_law(wave: Array) -> Array:
    """Samples in [-1, 1], of any shape, as uint8 codes of the mu-law; louder ones get the loudest code."""
    negative, magnitude = _parts(wave, MU_TOP)
    biased = magnitude + MU_BIAS
    segment = _octave(biased) - 7
    code = (segment << 4) | ((biased >> (segment + 3)) & 15)
    return (~jnp.where(negative, code | SIGN, code)).astype(jnp.uint8)


def decode_mu_law(codes: Array) -> Array:
    """The float32 samples that uint8 codes of the mu-law stand for, up to 32124 / 32768."""
    codes = ~codes.astype(jnp.int32)
    magnitude = ((((codes & 15) << 3) + MU_BIAS) << ((codes >> 4) & 7)) - MU_BIAS
    return _signed(magnitude, (codes & SIGN) != 0)


def encode_a_law(wave: Array) -> Array:
    """Samples in [-1, 1], of any shape, as uint8 codes of the A-law; louder ones get the loudest code.

    The A-law has no zero: silence becomes the least positive value.
    """
    negative, magnitude = _parts(wave, 32767)
    segment = jnp.maximum(_octave(magnitude) - 7, 0)
    code = (segment << 4) | ((magnitude >> (jnp.maximum(segment, 1) + 3)) & 15)
    return (jnp.where(negative, code, code | SIGN) ^ A_INVERTED).astype(jnp.uint8)


def decode_a_law(codes: Array) -> Array:
    """The float32 samples that uint8 codes of the A-law stand for, from 8 / 32768 up to 32256 / 32768."""
    codes = codes.astype(jnp.int32) ^ A_INVERTED
    segment = (codes >> 4) & 7
    fine = ((codes & 15) << 4) + jnp.where(segment > 0, 264, 8)
    return _signed(fine << jnp.maximum(segment - 1, 0), (codes & SIGN) == 0)


def mu_law() -> Op:
    """What 8 bits of the mu-law leave of a clip. Draws nothing; derivatives are zero."""
    return stateless(lambda clip: _coded(clip, "mu"))._replace(name="mu_law")


def a_law() -> Op:
    """What 8 bits of the A-law leave of a clip. Draws nothing; derivatives are zero."""
    return stateless(lambda clip: _coded(clip, "a"))._replace(name="a_law")


def companded(wave: Array, *, law: str) -> Array:
    """Samples of any shape after 8 bits of the `mu` or the `a` law, in the dtype that came in."""
    coded = decode_mu_law(encode_mu_law(wave)) if law == "mu" else decode_a_law(encode_a_law(wave))
    return coded.astype(wave.dtype)


def _coded(clip: Clip, law: str) -> Clip:
    clip = silenced(clip)
    return silenced(clip.replace(wave=companded(clip.wave, law=law)))


def _parts(wave: Array, most: int) -> tuple[Array, Array]:
    """Signs and int32 magnitudes; a negative value on a decision value belongs to the interval nearer to zero."""
    scaled = jax.lax.stop_gradient(wave).astype(jnp.float32) * FULL_SCALE
    magnitude = jnp.where(scaled < 0, jnp.ceil(-scaled) - 1, jnp.floor(scaled))
    return scaled < 0, jnp.clip(magnitude, 0, most).astype(jnp.int32)


def _octave(magnitude: Array) -> Array:
    """The position of the highest bit; -1 for zero."""
    return 31 - jax.lax.clz(magnitude)


def _signed(magnitude: Array, negative: Array) -> Array:
    value = magnitude.astype(jnp.float32) / FULL_SCALE
    return jnp.where(negative, -value, value)
