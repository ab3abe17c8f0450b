"""Ops that change the duration without the pitch, and the pitch without the duration."""

import jax
import jax.numpy as jnp

from jaxkit.audio.dynamic import LEAST, MOST, resample_by
from jaxkit.audio.extent import inside, silenced
from jaxkit.audio.speed import capacity, kept_at_one
from jaxkit.audio.vocoder import stretch_by
from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval
from jaxkit.records import Clip

Array = jax.Array
OCTAVE = 12.0
MOST_SEMITONES = 36.0


def time_stretch(*, factor: tuple[float, float] = (0.8, 1.25), n_fft: int = 1024) -> Op:
    """Plays a clip faster or slower at its own pitch, by a factor drawn uniformly, with a phase vocoder.

    One program serves all factors; a factor of exactly 1 returns the wave bit for bit. The length becomes
    `length / factor`, rounded half up; the result has room for the slowest: `ceil(T / low)`. See `stretch_by`.

    Args:
      factor: (low, high); 1.1 is faster.
      n_fft: samples in a frame of the vocoder.

    Raises:
      ValueError: when built, if `factor` is not (low, high) within [1/64, 64].
    """
    ends = interval("factor", factor, least=LEAST, most=MOST)

    def apply(drawn: Array, clip: Clip) -> Clip:
        room = capacity(clip.wave.shape[0], ends[0])
        made = stretch_by(clip, drawn, factors=ends, capacity=room, n_fft=n_fft)
        return kept_at_one(drawn, clip, made)

    return Op(lambda key, spec: draw_uniform(key, ends), apply, name="time_stretch")


def pitch_shift(*, semitones: tuple[float, float] = (-4.0, 4.0), n_fft: int = 1024) -> Op:
    """Shifts the pitch, and the formants with it, by a number of semitones drawn uniformly; the duration stays.

    A phase vocoder makes the clip longer by the factor that reading it faster then takes back. Fractions count; one
    program serves all; no shift returns the wave bit for bit.

    Args:
      semitones: (low, high); positive is higher.
      n_fft: samples in a frame of the vocoder.

    Raises:
      ValueError: when built, if `semitones` is not (low, high) within 36 of 0.
    """
    ends = interval("semitones", semitones, least=-MOST_SEMITONES, most=MOST_SEMITONES)
    low, high = (2.0 ** (end / OCTAVE) for end in ends)

    def apply(drawn: Array, clip: Clip) -> Clip:
        clip = silenced(clip)
        ratio = jnp.exp2(drawn / OCTAVE)
        longer = stretch_by(clip, 1.0 / ratio, factors=(0.99 / high, 1.01 / low), n_fft=n_fft)
        made = resample_by(longer, ratio, ratios=(0.99 * low, 1.01 * high), capacity=clip.wave.shape[0])
        wave = jnp.where(inside(clip), made.wave, 0.0)
        return clip.replace(wave=jnp.where(drawn == 0.0, clip.wave, wave))

    return Op(lambda key, spec: draw_uniform(key, ends), apply, name="pitch_shift", neutral=True)
