"""Impulse responses of box-shaped rooms, by the image-source method."""

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.convolve import convolved
from jaxkit.audio.decay import SOUND_SPEED, wall_reflection
from jaxkit.audio.sinc import add_impulses
from jaxkit.boundary import in_turn
from jaxkit.ranges import number

Array = jax.Array
NEAREST_METRES = 0.01
LONGEST_SECONDS = 60.0


def simulate_rir(
    room: Array,
    source: Array,
    microphone: Array,
    *,
    t60: Array | float | None = None,
    reflection: Array | float | None = None,
    formula: str = "box",
    order: int | tuple[int, int, int] = 12,
    seconds: float = 0.5,
    rate: int = 16000,
    taps: int = 40,
    high_pass_hz: float = 100.0,
) -> Array:
    """The impulse response of a room with plane walls, from a source to a microphone, both without direction.

    The sum of the source's mirror images, each a delayed impulse of amplitude `1 / (4 pi distance)` times the
    coefficients of the walls it met (J. B. Allen and D. A. Berkley, "Image method for efficiently simulating
    small-room acoustics", JASA 65, 1979). An impulse between two samples is a sinc under a Hann window (P. M. Peterson,
    JASA 80, 1986). The first sample is the moment of emission, sound travels at 343 m/s. Everything but the static
    settings may be traced and differentiated: many rooms are one program under `jax.vmap`.

    Args:
      room: `[3]` float32, its size in metres.
      source: `[3]` float32, metres from the corner at the origin.
      microphone: `[3]` float32, metres.
      t60: seconds in which the sound decays by 60 dB, from which one coefficient for all walls follows.
      reflection: instead, amplitudes in [-1, 1] that walls reflect: `[3, 2]`, for each axis the wall at 0 and the one
        across, or one for all.
      formula: how a coefficient follows from `t60`, see `wall_reflection`: `box`, `eyring` or `sabine`.
      order: how many times a room is repeated to either side along each axis; `order_within` tells how many `seconds`
        need.
      seconds: length of the response; later images are left out.
      rate: sample rate in Hz.
      taps: even width of a fractional impulse in samples.
      high_pass_hz: cut-off of Allen and Berkley's high-pass filter. All images are positive, and without the filter
        their sum swells at low frequencies, where no real room does, and decays too slowly. 0: none.

    Returns:
      `[ceil(seconds * rate)]` float32.

    Raises:
      ValueError: if not exactly one of `t60` and `reflection` is given, the formula is unknown, or a static setting is
        no positive number of its kind.
    """
    settings = static_settings(order, seconds, rate, taps, high_pass_hz)
    if (t60 is None) == (reflection is None):
        raise ValueError(f"give either t60 or reflection, got t60={t60!r} and reflection={reflection!r}")
    room, source, microphone = (jnp.asarray(place, jnp.float32) for place in (room, source, microphone))
    walls = wall_reflection(room, t60, formula=formula) if reflection is None else jnp.asarray(reflection, jnp.float32)
    walls = jnp.broadcast_to(walls if walls.ndim else walls[None, None], (3, 2))
    trace = functools.partial(_traced, settings)
    return in_turn(trace, room, source, microphone, walls, jnp.float32(0.0))


def order_within(room: tuple[float, float, float], *, seconds: float) -> tuple[int, int, int]:
    """The `order` of `simulate_rir` that leaves out no image of a room, in metres, that arrives within `seconds`."""
    return tuple(math.ceil(SOUND_SPEED * seconds / (2.0 * side)) for side in room)


class Settings(NamedTuple):
    """What of a simulation is static: `order` along each axis, `samples`, `rate` in Hz, `taps`, and a cut-off in Hz."""

    order: tuple[int, int, int]
    samples: int
    rate: int
    taps: int
    high_pass_hz: float


def static_settings(
    order: int | tuple[int, int, int], seconds: float, rate: int, taps: int, high_pass_hz: float
) -> Settings:
    """The static settings of `simulate_rir`, checked.

    Raises:
      ValueError: if one is no number of its kind.
    """
    orders = (order,) * 3 if isinstance(order, int) else tuple(order)
    if len(orders) != 3 or not all(type(n) is int and n >= 0 for n in orders):
        raise ValueError(f"order must be one or three integers of at least 0, got {order!r}")
    if type(rate) is not int or rate < 1:
        raise ValueError(f"rate must be a positive integer in Hz, got {rate!r}")
    if type(taps) is not int or taps < 2 or taps % 2:
        raise ValueError(f"taps must be a positive even integer, got {taps!r}")
    if not 0.0 < number("seconds", seconds) < LONGEST_SECONDS:
        raise ValueError(f"seconds must lie between 0 and {LONGEST_SECONDS:g}, got {seconds!r}")
    if not 0.0 <= number("high_pass_hz", high_pass_hz) < rate / 2:
        raise ValueError(f"high_pass_hz must lie from 0 to half the rate, got {high_pass_hz!r}")
    return Settings(orders, math.ceil(seconds * rate), rate, taps, high_pass_hz)


def aligned_rir(settings: Settings, room: Array, source: Array, microphone: Array, walls: Array) -> Array:
    """A response whose direct path, the straight way from source to microphone, is sample `settings.taps // 2`.

    `walls` are `[3, 2]` amplitudes; everything else is as in `simulate_rir`.
    """
    straight = jnp.sqrt(jnp.maximum(jnp.sum(jnp.square(source - microphone)), NEAREST_METRES**2))
    late = settings.taps // 2 - straight * (settings.rate / SOUND_SPEED)
    return _traced(settings, room, source, microphone, walls, late)


def _traced(settings: Settings, room: Array, source: Array, microphone: Array, walls: Array, late: Array) -> Array:
    """The response, with `late` samples before the moment of emission."""
    axes = [_images(room[i], source[i], microphone[i], walls[i], settings.order[i]) for i in range(3)]
    (x, x_kept), (y, y_kept), (z, z_kept) = axes
    plane = (jnp.square(y)[:, None] + jnp.square(z)[None, :]).reshape(-1)
    plane_kept = (y_kept[:, None] * z_kept[None, :]).reshape(-1)

    def slab(response: Array, across: Array, kept: Array) -> Array:
        distance = jnp.sqrt(jnp.maximum(jnp.square(across) + plane, NEAREST_METRES**2))
        places = distance * (settings.rate / SOUND_SPEED) + late
        amplitude = kept * plane_kept / (4.0 * math.pi * distance)
        return add_impulses(response, places, amplitude, taps=settings.taps)

    @jax.checkpoint
    def step(response: Array, image: tuple[Array, Array]) -> tuple[Array, None]:
        in_reach = jnp.abs(image[0]) * (settings.rate / SOUND_SPEED) + late <= settings.samples
        return jax.lax.cond(in_reach, slab, lambda response, across, kept: response, response, *image), None

    empty = jnp.zeros((settings.samples + 2 * settings.taps,), jnp.float32)
    response = jax.lax.scan(step, empty, (x, x_kept))[0][settings.taps :][: settings.samples]
    if settings.high_pass_hz == 0.0:
        return response
    return convolved(response, jnp.asarray(_high_pass(settings.high_pass_hz, settings.rate)), ahead=0)


@functools.cache
def _high_pass(cut_off: float, rate: int) -> np.ndarray:
    """The impulse response of Allen and Berkley's filter, until it has decayed by 170 dB."""
    angle = 2.0 * math.pi * cut_off / rate
    radius = math.exp(-angle)
    poles, zeros = (2.0 * radius * math.cos(angle), -(radius**2)), (1.0, -(1.0 + radius), radius)
    state = np.zeros(math.ceil(20.0 / angle) + 5)
    state[2] = 1.0
    for i in range(3, len(state)):
        state[i] = poles[0] * state[i - 1] + poles[1] * state[i - 2]
    taps = sum(zero * state[2 - i : len(state) - i] for i, zero in enumerate(zeros))
    return taps.astype(np.float32)


def _images(side: Array, source: Array, microphone: Array, walls: Array, order: int) -> tuple[Array, Array]:
    """Where images are along one axis, from the microphone, and the product of the coefficients they met: `[K]` both.

    Of each repetition of the room there are two, one of them mirrored.
    """
    rooms = np.repeat(np.arange(-order, order + 1), 2)
    mirrored = np.tile([0, 1], 2 * order + 1)
    offset = np.where(mirrored, -1.0, 1.0).astype(np.float32) * source - microphone
    near, far = (jnp.concatenate([jnp.ones(1), jnp.cumprod(jnp.broadcast_to(wall, (order + 1,)))]) for wall in walls)
    kept = near[np.abs(rooms - mirrored)] * far[np.abs(rooms)]
    return offset + (2.0 * rooms).astype(np.float32) * side, kept
