"""An op that puts each clip into a room of its own, made on the spot."""

import math

import jax
import jax.numpy as jnp

from jaxkit.audio.decay import SOUND_SPEED, wall_reflection
from jaxkit.audio.reverb import reverberated
from jaxkit.audio.rir import aligned_rir, order_within, static_settings
from jaxkit.boundary import in_turn
from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval
from jaxkit.records import Clip

Array = jax.Array
Params = dict[str, Array]
Range = tuple[float, float]
MARGIN_METRES = 0.3
TAPS = 40
HIGH_PASS_HZ = 100.0


def room_reverb(
    *,
    size: tuple[Range, Range, Range] = ((4.0, 10.0), (3.5, 8.0), (2.5, 4.0)),
    t60: Range = (0.1, 0.5),
    seconds: float = 0.3,
) -> Op:
    """Draws a box-shaped room, a speaker and a microphone in it, and lets the clip sound there, see `simulate_rir`.

    Time zero is the direct path: the result is neither delayed nor longer. The valid samples keep their energy. The
    params are `room`, `source` and `microphone` (`[3]` metres, the two at least 0.3 m from all walls) and `t60`
    (seconds). The cost grows with the cube of `seconds` over the smallest room; where that is too much, simulate rooms
    once, make a `Bank` of them and use `reverb`.

    Args:
      size: the ranges of the sides in metres, uniform.
      t60: the range of the time in which sound decays by 60 dB, uniform.
      seconds: length of the response after the direct path; what would come later is cut off.

    Raises:
      ValueError: when built, if a range is no finite (low, high), a room is smaller than 0.6 m or larger than 1 km, a
        decay not between 0.01 and 60 s, or `seconds` not between 0 and 60.
    """
    if not isinstance(size, tuple | list) or len(size) != 3:
        raise ValueError(f"size must be three pairs (low, high), got {size!r}")
    sides = [interval(f"size[{i}]", side, least=2 * MARGIN_METRES, most=1000.0) for i, side in enumerate(size)]
    decay = interval("t60", t60, least=0.01, most=60.0)
    static_settings(0, seconds, 16000, TAPS, HIGH_PASS_HZ)
    order = order_within(tuple(low for low, _ in sides), seconds=seconds + _longest_way(sides))

    def draw(key: Array, spec: Clip) -> Params:
        keys = jax.random.split(key, 4)
        ends = jnp.asarray(sides, jnp.float32)
        room = jax.random.uniform(keys[0], (3,), minval=ends[:, 0], maxval=ends[:, 1])
        spots = [MARGIN_METRES + (room - 2 * MARGIN_METRES) * jax.random.uniform(own, (3,)) for own in keys[1:3]]
        return {"room": room, "source": spots[0], "microphone": spots[1], "t60": draw_uniform(keys[3], decay)}

    def apply(params: Params, clip: Clip) -> Clip:
        settings = static_settings(order, seconds, clip.rate, TAPS, HIGH_PASS_HZ)

        def sound(params: Params, clip: Clip) -> Clip:
            walls = jnp.broadcast_to(wall_reflection(params["room"], params["t60"]), (3, 2))
            response = aligned_rir(settings, params["room"], params["source"], params["microphone"], walls)
            return reverberated(clip, response, ahead=TAPS // 2)

        return in_turn(sound, params, clip)

    return Op(draw, apply, name="room_reverb")


def _longest_way(sides: list[Range]) -> float:
    """The seconds that sound takes across the largest room."""
    return math.hypot(*(high for _, high in sides)) / SOUND_SPEED
