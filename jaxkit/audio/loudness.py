"""Loudness as listeners perceive it, and clips brought to one."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.extent import length, silenced
from jaxkit.audio.filtered import on_wave
from jaxkit.audio.frames import frames
from jaxkit.audio.level import decibels
from jaxkit.audio.sections import Sections, cascade
from jaxkit.audio.state_space import through
from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval
from jaxkit.records import Clip

Array = jax.Array
OFFSET_LU = -0.691
ABSOLUTE_GATE = -70.0
RELATIVE_GATE = -10.0
STEPS_PER_BLOCK = 4
# The analogue forms of the two filters that the recommendation tabulates at 48 kHz: frequency in Hz, quality factor.
SHELF = (1681.974450955533, 0.7071752369554196)
SHELF_DB = 3.999843853973347
SHELF_BEND = 0.4996667741545416
HIGH_PASS = (38.13547087602444, 0.5003270373238773)


def loudness(clip: Clip) -> Array:
    """Integrated loudness in LUFS, after ITU-R BS.1770-4 for one channel: float32 scalar.

    The K-weighted power of blocks of 400 ms, three quarters of which overlap, averaged over the blocks that are louder
    than -70 LUFS and than 10 LU below the average of those. Blocks start at multiples of 100 ms, rounded to a sample,
    and lie wholly within the clip; pyloudnorm also counts a last block of which up to half a step is missing.
    The weighting is the tabulated one at 48 kHz, and its bilinear transform at other rates, as pyloudnorm's "DeMan":
    at 16 kHz a tone of 1 kHz reads 0.04 LU higher.

    Returns:
      LUFS; minus infinity for clips under 400 ms, and where no block is louder than -70 LUFS.

    Raises:
      ValueError: if the rate is under 4000 Hz, below which the weighting has no meaning.
    """
    if clip.rate < 4000:
        raise ValueError(f"loudness needs a rate of at least 4000 Hz, the clip has {clip.rate} Hz")
    power = _block_powers(clip)
    loud = power > _power(ABSOLUTE_GATE)
    threshold = jnp.maximum(_mean(power, loud) * 10 ** (RELATIVE_GATE / 10), _power(ABSOLUTE_GATE))
    counted = power > threshold
    some = jnp.any(counted)
    mean = jnp.where(some, _mean(power, counted), 1.0)
    return jnp.where(some, OFFSET_LU + 10 / math.log(10) * jnp.log(mean), -jnp.inf)


def normalize_loudness(*, lufs: tuple[float, float] = (-31.0, -13.0)) -> Op:
    """Brings a clip to a loudness drawn uniformly, with one gain. The result is not clipped to [-1, 1].

    Clips that have no loudness (silence, under 400 ms) stay as they are.

    Params: the loudness in LUFS.

    Args:
      lufs: the ends of the draw.

    Raises:
      ValueError: when built, if `lufs` is not a finite (low, high); when traced, as `loudness`.
    """
    ends = interval("lufs", lufs)
    return Op(lambda key, spec: draw_uniform(key, ends), _normalized, name="normalize_loudness")


def _normalized(target: Array, clip: Clip) -> Clip:
    clip = silenced(clip)
    own = loudness(clip)
    missing = jnp.where(jnp.isfinite(own), target - own, 0.0)
    louder = clip.wave.astype(jnp.float32) * decibels(missing)
    return clip.replace(wave=louder.astype(clip.wave.dtype))


def _power(lufs: float) -> float:
    return 10 ** ((lufs - OFFSET_LU) / 10)


def _mean(power: Array, counted: Array) -> Array:
    return jnp.sum(jnp.where(counted, power, 0.0)) / jnp.maximum(jnp.sum(counted, dtype=jnp.float32), 1.0)


def _block_powers(clip: Clip) -> Array:
    """Mean squares of the K-weighted blocks `[blocks]`; zero for those that reach beyond the end."""
    # Half a step up, so that the step is rounded to the nearest sample.
    step = (clip.rate + 5) // 10
    system = cascade(_weighting(clip.rate))
    weighted = on_wave(lambda wave: through(system, wave), clip.replace(wave=clip.wave.astype(jnp.float32))).wave
    steps = weighted.shape[0] // step
    sums = jnp.sum(jnp.square(weighted[: steps * step]).reshape(steps, step), axis=1)
    blocks = max(steps - STEPS_PER_BLOCK + 1, 0)
    power = frames(sums, width=STEPS_PER_BLOCK, hop=1, count=blocks).sum(1) / (STEPS_PER_BLOCK * step)
    ends = (jnp.arange(blocks) + STEPS_PER_BLOCK) * step
    return jnp.where(ends <= length(clip), power, 0.0)


@functools.cache
def _weighting(rate: int) -> Sections:
    """The K-weighting at any rate: a high shelf, then a high-pass, by the bilinear transform.

    The shelf is of a shape of its own: its gain in the middle is not quite half of that at the top.
    """
    rows = []
    for (frequency, q), (high, band, low) in ((SHELF, _shelf_gains()), (HIGH_PASS, _high_pass_gains(rate))):
        rows.append((math.tan(math.pi * frequency / rate), 1 / q, high, band / q, low))
    return Sections(np.float64(1.0), np.bool_(False), *np.array(rows).T)


def _shelf_gains() -> tuple[float, float, float]:
    top = 10 ** (SHELF_DB / 20)
    return top, top**SHELF_BEND, 1.0


def _high_pass_gains(rate: int) -> tuple[float, float, float]:
    """The recommendation leaves out the factor that would make the gain one far above the cut-off."""
    frequency, q = HIGH_PASS
    tangent = math.tan(math.pi * frequency / rate)
    return 1 + tangent / q + tangent**2, 0.0, 0.0
