"""An op that adds recorded noise."""

import functools

import jax
import jax.numpy as jnp

from jaxkit.audio.bank import Bank, check_bank, check_rates
from jaxkit.audio.extent import inside, length, silenced
from jaxkit.audio.level import decibels, norm
from jaxkit.boundary import in_turn
from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval
from jaxkit.records import Clip

Array = jax.Array
Params = dict[str, Array]


def add_noise(*, bank: Bank, snr_db: tuple[float, float] = (5.0, 20.0)) -> Op:
    """Adds a stretch of a noise at a signal-to-noise ratio in dB, all drawn uniformly.

    A noise at least as long as the clip is read from a random place; a shorter one is repeated, from a random place on.
    The ratio holds between the powers of the valid samples and of the noise that is added to them. Silence stays
    silence, and a silent stretch of noise adds nothing. Nothing is clipped.

    The params are `member` (int32, of the bank), `offset` (float32 in [0, 1): the fraction of the possible places at
    which the stretch starts, which `first_sample` turns into samples) and `snr_db` (float32).

    Args:
      bank: the noises, at the rate of the clips.
      snr_db: the range of the ratio.

    Raises:
      ValueError: when built, if `bank` is no `Bank` or `snr_db` no finite (low, high); when traced, if the rates of
        bank and clip differ.
    """
    bank = check_bank("add_noise", bank)
    ends = interval("snr_db", snr_db)

    def draw(key: Array, spec: Clip) -> Params:
        check_rates(bank, spec.rate)
        member, offset, ratio = jax.random.split(key, 3)
        return {
            "member": jax.random.randint(member, (), 0, len(bank)),
            "offset": draw_uniform(offset, (0.0, 1.0)),
            "snr_db": draw_uniform(ratio, ends),
        }

    return Op(draw, functools.partial(_mixed, bank), name="add_noise", holds=True)


def first_sample(offset: Array, clip_length: Array | int, noise_length: Array | int) -> Array:
    """The sample of a noise that is added to the first sample of a clip, int32.

    `floor(offset * places)` in float32, where there are `noise_length - clip_length + 1` places if the noise is at
    least as long as the clip, else `noise_length`.
    """
    clip_length, noise_length = jnp.asarray(clip_length, jnp.int32), jnp.asarray(noise_length, jnp.int32)
    places = jnp.where(noise_length >= clip_length, noise_length - clip_length + 1, noise_length)
    start = jnp.floor(offset * places.astype(jnp.float32)).astype(jnp.int32)
    return jnp.clip(start, 0, places - 1)


def mixed(wave: Array, noise: Array, snr_db: Array) -> Array:
    """`wave` plus `noise`, `[T]` float32 both, which is scaled to the ratio of their powers in dB.

    Where one of them is silent the wave comes back as it is.
    """
    loudness = norm(noise)
    silent = loudness == 0.0
    factor = norm(wave) / jnp.where(silent, 1.0, loudness) * decibels(-snr_db)
    return wave + noise * jnp.where(silent, 0.0, factor)


def _mixed(bank: Bank, params: Params, clip: Clip) -> Clip:
    check_rates(bank, clip.rate)
    return in_turn(lambda params, clip: _with_noise(bank, params, clip), params, clip)


def _with_noise(bank: Bank, params: Params, clip: Clip) -> Clip:
    clip, member = silenced(clip), params["member"]
    start = first_sample(params["offset"], length(clip), bank.length(member))
    noise = bank.read(member, start, clip.wave.shape[0])
    noise = noise if clip.length is None else jnp.where(inside(clip), noise, 0.0)
    wave = mixed(clip.wave.astype(jnp.float32), noise, params["snr_db"])
    return clip.replace(wave=wave.astype(clip.wave.dtype))
