"""Where somebody speaks, by energy alone."""

import functools
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.extent import length
from jaxkit.audio.frame_power import relative_powers
from jaxkit.boundary import in_turn
from jaxkit.ranges import interval
from jaxkit.records import Clip

Array = jax.Array
QUIETEST_DB = -60.0


def voice_activity(
    clip: Clip,
    *,
    on: float = 0.4,
    off: float = 0.25,
    width: int = 480,
    hop: int = 160,
    least_range_db: float = 10.0,
    min_speech: float = 0.1,
    min_silence: float = 0.2,
    pad: float = 0.05,
) -> Array:
    """Which frames hold speech, by their level between the clip's own noise floor and its loudest frame.

    The level of a frame in dB is put on a scale from 0, the floor (the tenth percentile of the frames, at most 60 dB
    below the loudest), to 1, the loudest frame; `hysteresis` decides. So the gain does not matter, and steady noise
    raises the floor. In silence no frame holds speech; in a clip whose levels span less than `least_range_db` all do,
    since nothing tells speech from noise there.

    Args:
      clip: one clip.
      on: a stretch of speech reaches this somewhere.
      off: and is above this throughout.
      width: samples over which a level is taken, around the frame.
      hop: samples in a frame: frame `k` stands for samples `k * hop` to `(k + 1) * hop`.
      least_range_db: what the levels have to span.
      min_speech, min_silence, pad: seconds, see `hysteresis`; rounded to whole frames.

    Returns:
      `[ceil(T / hop)]` bool, False beyond the length.

    Raises:
      ValueError: if a threshold is outside [0, 1] or `off` is above `on`, a duration is negative, a frame is empty.
      TypeError: if the wave is not floating.
    """
    _check_levels(on, off, width, hop)
    shortest, gap, margin = (_in_frames(s, clip.rate, hop) for s in (min_speech, min_silence, pad))
    frames = -(-clip.wave.shape[0] // hop)
    valid = -(-jnp.asarray(length(clip), jnp.int32) // hop)
    before = max(width - hop, 0) // 2
    powers = functools.partial(relative_powers, width=width, hop=hop, before=before, count=frames)
    power = in_turn(powers, clip)
    score = _scores(power, valid, least_range_db)
    return hysteresis(score, on=on, off=off, min_speech=shortest, min_silence=gap, pad=margin, length=valid)


def _check_levels(on: float, off: float, width: int, hop: int) -> None:
    interval("(off, on)", (off, on), least=0.0, most=1.0)
    if hop < 1 or width < hop:
        raise ValueError(f"voice_activity needs 1 <= hop <= width, got hop={hop!r} and width={width!r}")


def _in_frames(seconds: float, rate: int, hop: int) -> int:
    exact = Fraction(interval("a duration in seconds", (seconds, seconds), least=0.0)[0]).limit_denominator(10**6)
    return round(exact * rate / hop)


def _scores(power: Array, valid: Array, least_range_db: float) -> Array:
    """`[frames]`: 0 at the noise floor, 1 at the loudest frame, -1 in silence and beyond the length."""
    inside = jnp.arange(power.shape[0]) < valid
    power = jnp.where(inside, power, 0.0)
    loudest = jnp.max(power, initial=0.0)
    share = power / jnp.where(loudest > 0, loudest, 1.0)
    level = 10.0 * jnp.log10(jnp.maximum(share, 10.0 ** (QUIETEST_DB / 10.0)))
    floor = _floor(jnp.where(inside, level, 0.0), inside, valid)
    spread = -floor >= least_range_db
    uniform = (level >= -least_range_db).astype(jnp.float32)
    score = jnp.where(spread, 1.0 - level / jnp.where(spread, floor, -1.0), uniform)
    return jnp.where(inside & (loudest > 0), score, -1.0)


def _floor(level: Array, inside: Array, valid: Array) -> Array:
    """The tenth percentile of the valid frames."""
    if level.shape[0] == 0:
        return jnp.float32(0.0)
    ranked = jnp.sort(jnp.where(inside, level, 0.0))
    return ranked[jnp.maximum(valid - 1, 0) // 10]


def hysteresis(
    scores: Array,
    *,
    on: float,
    off: float,
    min_speech: int = 0,
    min_silence: int = 0,
    pad: int = 0,
    length: Array | None = None,
) -> Array:
    """Decides frame by frame from scores of any kind, such as a network's probabilities of speech.

    Speech is a stretch of frames that stay at or above `off` and reach `on`. Then pauses shorter than `min_silence`
    within speech are closed, speech shorter than `min_speech` is dropped, and the rest grows by `pad` at both ends.

    Args:
      scores: `[frames]`.
      on: the upper threshold.
      off: the lower threshold.
      min_speech: frames.
      min_silence: frames.
      pad: frames.
      length: how many frames are valid. None: all.

    Returns:
      `[frames]` bool, False beyond the length.

    Raises:
      ValueError: if `off` is above `on`, or a number of frames is negative.
    """
    interval("(off, on)", (off, on))
    if min(min_speech, min_silence, pad) < 0:
        raise ValueError(f"numbers of frames must not be negative: {min_speech=}, {min_silence=}, {pad=}")
    if scores.shape[0] == 0:
        return jnp.zeros((0,), bool)
    at = jnp.arange(scores.shape[0], dtype=jnp.int32)
    valid = jnp.asarray(scores.shape[0] if length is None else length, jnp.int32)
    weak = (scores >= off) & (at < valid)
    speech = weak & ((_last(weak & (scores >= on), at) > _last(~weak, at)) | _reaches(weak & (scores >= on), ~weak, at))
    behind, ahead = _last(speech, at), _next(speech, at)
    speech |= (behind >= 0) & (ahead < valid) & (ahead - behind - 1 < min_silence)
    speech &= jnp.minimum(_next(~speech, at), valid) - jnp.maximum(_last(~speech, at), -1) - 1 >= min_speech
    near = (at - _last(speech, at) <= pad) | (_next(speech, at) - at <= pad)
    return near & (at < valid)


def _last(hit: Array, at: Array) -> Array:
    """The nearest hit at or before each frame; far before the start where there is none."""
    return jax.lax.cummax(jnp.where(hit, at, -(2**30)))


def _next(hit: Array, at: Array) -> Array:
    """The nearest hit at or after each frame; far behind the end where there is none."""
    return jax.lax.cummin(jnp.where(hit, at, 2**30), reverse=True)


def _reaches(strong: Array, broken: Array, at: Array) -> Array:
    """Whether a strong frame comes before the stretch breaks off."""
    return _next(strong, at) < _next(broken, at)


def segments(active: Any, *, hop: int = 160, length: int | None = None) -> np.ndarray:
    """The stretches of speech, on the host.

    Args:
      active: `[frames]` bool, of `voice_activity`.
      hop: samples in a frame.
      length: samples of the clip, at which the last stretch ends. None: at the end of its last frame.

    Returns:
      `[segments, 2]` int64: the first sample, and the one behind the last.

    Raises:
      ValueError: if `active` is not one clip's `[frames]`.
    """
    active = np.asarray(active, bool)
    if active.ndim != 1:
        raise ValueError(f"segments takes one clip's frames, got {active.shape}; take the members in turn")
    changes = np.flatnonzero(np.diff(np.concatenate([[False], active, [False]]).astype(np.int8)))
    ends = changes.reshape(-1, 2).astype(np.int64) * hop
    return ends if length is None else np.minimum(ends, length)
