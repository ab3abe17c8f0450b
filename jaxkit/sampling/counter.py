"""Random words that depend on a key, the name of their use, and two counters; never on an array's shape.

Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), written out
element by element, so that XLA fuses the words into their use. The counters are a body's row number and a number
within the body: whatever else is computed, in what order and on how many devices, a body gets the same words.
"""

import zlib

import jax
import jax.numpy as jnp

from jaxkit.sampling.anchor import Array

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
Words = tuple[Array, Array]


def threefry(key: Array, a: Array, b: Array) -> Words:
    """Two uint32 words for each pair of uint32 counters `a`, `b`, under a key `[2]` uint32."""
    keys = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(PARITY))
    x, y = a + keys[0], b + keys[1]
    for group in range(5):
        for bits in ROTATIONS[group % 2]:
            x = x + y
            y = ((y << bits) | (y >> (32 - bits))) ^ x
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + jnp.uint32(group + 1)
    return x, y


def stream(key: Array, name: str, *, index: int = 0) -> Array:
    """A key `[2]` uint32 for one use of a user's key: independent for every name and index.

    Args:
      key: a typed key or its raw words.
      name: of the use, such as "arrival".
      index: of the repetition, in [0, 2**32).
    """
    return _mixed(jax.random.key_data(key), jnp.uint32(zlib.crc32(name.encode())), jnp.uint32(index))


@jax.jit
def _mixed(data: Array, *counters: Array) -> Array:
    pairs = data.reshape(-1, 2)
    mixed = pairs[0]
    for more in (*pairs[1:], counters):
        mixed = jnp.stack(threefry(mixed, *more))
    return mixed


def words(key: Array, name: str, a: Array, b: Array) -> Words:
    """Two uint32 words for each pair of uint32 counters, in the stream `name` of a user's key."""
    return threefry(stream(key, name), a, b)


def uniform(word: Array) -> Array:
    """Uniform float32 in (0, 1): the odd multiples of 2**-24, exactly, so neither end is ever reached."""
    return (word >> 9).astype(jnp.float32) * jnp.float32(2.0**-23) + jnp.float32(2.0**-24)


def uniform_fine(high: Array, low: Array) -> Array:
    """Uniform float32 in [0, 1] from two words, right to 1e-7 of itself down to 2**-32: for small probabilities."""
    return high.astype(jnp.float32) * jnp.float32(2.0**-32) + low.astype(jnp.float32) * jnp.float32(2.0**-64)


def exponential(high: Array, low: Array) -> Array:
    """Standard exponential float32 from two words, right to 1e-6 of itself however small; infinite beyond 17."""
    return -jnp.log1p(-uniform_fine(high, low))
