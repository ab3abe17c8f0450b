"""An op that puts a clip into a room, by the room's impulse response."""

import functools

import jax
import jax.numpy as jnp

from jaxkit.audio.bank import Bank, check_bank, check_rates
from jaxkit.audio.convolve import convolved
from jaxkit.audio.extent import inside, silenced
from jaxkit.audio.level import norm
from jaxkit.boundary import in_turn
from jaxkit.op import Op
from jaxkit.ranges import flag
from jaxkit.records import Clip

Array = jax.Array
EARLY_PER_SECOND = 20


def reverb(*, bank: Bank, early_only: bool = False) -> Op:
    """Convolves with an impulse response drawn uniformly from a bank.

    The direct path, a response's largest magnitude, is time zero: the result is neither delayed nor longer, and labels
    stay where they are. The valid samples keep their energy. A response of one impulse changes nothing, whatever its
    delay. The params are `member` (int32, of the bank).

    Args:
      bank: the responses, at the rate of the clips.
      early_only: keeps the first 50 ms after the direct path only, as the target of a dereverberation has it.

    Raises:
      ValueError: when built, if `bank` is no `Bank` or `early_only` no flag; when traced, if the rates of bank and clip
        differ.
    """
    bank = check_bank("reverb", bank)
    early_only = flag("early_only", early_only)

    def draw(key: Array, spec: Clip) -> dict[str, Array]:
        check_rates(bank, spec.rate)
        return {"member": jax.random.randint(key, (), 0, len(bank))}

    def apply(params: dict[str, Array], clip: Clip) -> Clip:
        check_rates(bank, clip.rate)
        return in_turn(functools.partial(_in_room, bank, early_only), params["member"], clip)

    return Op(draw, apply, name="reverb", holds=True)


def reverberated(clip: Clip, response: Array, *, ahead: int) -> Clip:
    """The clip, convolved with a response whose direct path is its tap `ahead`; length and energy are kept.

    Args:
      clip: one clip.
      response: `[K]` float32.
      ahead: how many taps come before the direct path.
    """
    clip = silenced(clip)
    dry = clip.wave.astype(jnp.float32)
    wet = convolved(dry, response, ahead=ahead)
    wet = wet if clip.length is None else jnp.where(inside(clip), wet, 0.0)
    loudness = norm(wet)
    silent = loudness == 0.0
    factor = jnp.where(silent, 0.0, norm(dry) / jnp.where(silent, 1.0, loudness))
    return clip.replace(wave=(wet * factor).astype(clip.wave.dtype))


def _in_room(bank: Bank, early_only: bool, member: Array, clip: Clip) -> Clip:
    """Any member, with its direct path moved to where the latest one of the bank is."""
    ahead, behind = int(bank.direct.max()), int((bank.lengths - bank.direct).max())
    behind = min(behind, clip.rate // EARLY_PER_SECOND + 1) if early_only else behind
    start = bank.direct_path(member) - ahead
    places = start + jnp.arange(ahead + behind, dtype=jnp.int32)
    known = (places >= 0) & (places < bank.length(member))
    response = jnp.where(known, bank.read(member, start, ahead + behind), 0.0)
    return reverberated(clip, response, ahead=ahead)
