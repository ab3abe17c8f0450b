"""Sound with holes: chunks that are silent, and packets that a network lost."""

from fractions import Fraction

import jax
import jax.numpy as jnp

from jaxkit import noise
from jaxkit.audio.extent import length, silenced
from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval
from jaxkit.records import Clip

Array = jax.Array


def dropout(*, chunks: tuple[int, int] = (0, 5), seconds: tuple[float, float] = (0.0, 0.1)) -> Op:
    """Silences some chunks of a clip, each wholly within the valid samples; they may overlap.

    Params: `(place [most], seconds [most])`: where each chunk lies, from 0 at the start to 1 at the end of the clip,
    and how long it is; chunks that were not drawn have no seconds. A chunk longer than the clip silences all of it.

    Args:
      chunks: the least and the greatest number of chunks, drawn uniformly.
      seconds: the ends of the uniform draw of each chunk's duration.

    Raises:
      ValueError: when built, if `chunks` is not a pair of ints from 0, or `seconds` is not a non-negative (low, high).
    """
    ends, (least, most) = interval("seconds", seconds, least=0.0), _counts(chunks)

    def draw(key: Array, spec: Clip) -> tuple[Array, Array]:
        keys = jax.random.split(key, 3)
        drawn = jnp.arange(most) < jax.random.randint(keys[0], (), least, most + 1)
        lasting = jnp.where(drawn, draw_uniform(keys[1], ends, (most,)), 0.0)
        return jax.random.uniform(keys[2], (most,)), lasting

    return Op(draw, _apply, name="dropout", neutral=True)


def _counts(chunks: tuple[int, int]) -> tuple[int, int]:
    good = isinstance(chunks, tuple | list) and len(chunks) == 2 and all(type(n) is int for n in chunks)
    if not good or not 0 <= chunks[0] <= chunks[1]:
        raise ValueError(f"chunks must be two ints (least, most) with 0 <= least <= most, got {chunks!r}")
    return chunks[0], chunks[1]


def _apply(params: tuple[Array, Array], clip: Clip) -> Clip:
    clip, (place, seconds) = silenced(clip), params
    valid = jnp.asarray(length(clip), jnp.int32)
    wide = jnp.minimum(jnp.round(seconds * clip.rate).astype(jnp.int32), valid)
    first = jnp.round(place * (valid - wide).astype(jnp.float32)).astype(jnp.int32)
    at = jnp.arange(clip.wave.shape[0])
    lost = jnp.zeros(at.shape, bool)
    for start, width in zip(first, wide, strict=True):
        lost |= (at >= start) & (at < start + width)
    return clip.replace(wave=jnp.where(lost, jnp.zeros_like(clip.wave), clip.wave))


def packet_loss(
    *,
    share: tuple[float, float] = (0.0, 0.1),
    burst: tuple[float, float] = (1.0, 3.0),
    packet_seconds: float = 0.02,
) -> Op:
    """Silences the packets that a network loses, singly or in bursts.

    A chain of two states, received and lost (E. N. Gilbert, "Capacity of a burst-noise channel", 1960), which starts in
    its stationary state. Nothing conceals the loss.

    Params: `(seed [2], share, burst)`.

    Args:
      share: ends of the uniform draw of the share of packets that is lost, at most 0.9.
      burst: ends of the uniform draw of the mean number of packets that are lost in a row.
      packet_seconds: duration of a packet, rounded down to whole samples.

    Raises:
      ValueError: when built, if `share` is not within [0, 0.9]; `burst` is below 1, or below what the share implies;
        or `packet_seconds` is not positive. When traced, if a packet is shorter than a sample.
    """
    shares = interval("share", share, least=0.0, most=0.9)
    bursts = interval("burst", burst, least=max(1.0, shares[1] / (1.0 - shares[1])))
    exact = Fraction(interval("packet_seconds", (packet_seconds, packet_seconds), least=1e-6)[0]).limit_denominator()

    def draw(key: Array, spec: Clip) -> tuple[Array, Array, Array]:
        keys = jax.random.split(key, 3)
        return noise.seed(keys[0]), draw_uniform(keys[1], shares), draw_uniform(keys[2], bursts)

    def apply(params: tuple[Array, Array, Array], clip: Clip) -> Clip:
        clip, packet = silenced(clip), int(exact * clip.rate)
        if packet < 1:
            raise ValueError(f"packet_seconds={packet_seconds!r} is less than one sample at {clip.rate} Hz")
        lost = jnp.repeat(_lost(*params, -(-clip.wave.shape[0] // packet)), packet)[: clip.wave.shape[0]]
        return clip.replace(wave=jnp.where(lost, jnp.zeros_like(clip.wave), clip.wave))

    return Op(draw, apply, name="packet_loss", neutral=True)


def _lost(seed: Array, share: Array, burst: Array, count: int) -> Array:
    """`[count]` bool: the chain of states, without a loop over packets.

    A packet that is lost after either state, or received after either, decides; one that changes the state is counted.
    So a state is what was last decided, changed as often as was counted since.
    """
    if count == 0:
        return jnp.zeros((0,), bool)
    chance, burst = noise.uniform(seed, (count,)), jnp.maximum(burst, 1.0)
    starts = chance < share / ((1.0 - share) * burst)
    stays = chance >= 1.0 / burst
    starts, stays = (lost.at[0].set(chance[0] < share) for lost in (starts, stays))
    changed = jnp.cumsum(starts & ~stays, dtype=jnp.int32) & 1
    code = 2 * jnp.arange(count, dtype=jnp.int32) + (starts.astype(jnp.int32) ^ changed)
    decided = jnp.where(starts == stays, code, -1)
    return ((jax.lax.cummax(decided) ^ changed) & 1) == 1
