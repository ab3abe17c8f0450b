"""Sound through a telephone line."""

import functools

import jax

from jaxkit.audio.companding import companded
from jaxkit.audio.extent import silenced
from jaxkit.audio.filter_ops import draw_log_uniform
from jaxkit.audio.filtered import through_sections
from jaxkit.audio.resample import resample
from jaxkit.audio.sections import high_pass_sections, low_pass_sections
from jaxkit.op import Op
from jaxkit.ranges import interval, one_of_names
from jaxkit.records import Clip

Array = jax.Array
Ends = tuple[float, float]
RATE = 8000
ORDER = 4
HIGHEST_HZ = 3900.0
LAWS = ("mu", "a", "none")


def telephone(*, low: Ends = (250.0, 350.0), high: Ends = (3200.0, 3600.0), law: str = "mu") -> Op:
    """What a telephone line leaves of a clip: its band, 8000 samples per second, and 8 bits of G.711.

    The clip is resampled to 8 kHz, filtered by a high-pass and a low-pass (Butterworth, order 4), coded, and resampled
    to its own rate; its length stays. The filters delay by about a millisecond. A level above full scale is clipped by
    the code.

    Params: `(low, high)`, the ends of the band in Hz.

    Args:
      low: ends of the draw of the lower cut-off in Hz, uniform in its logarithm.
      high: the same of the upper cut-off, at most 3900.
      law: `mu` (North America, Japan), `a` (elsewhere), or `none`: no code.

    Raises:
      ValueError: when built, if a range is not a (low, high) within [1, 3900] Hz, the lower one reaches into the upper
        one, or the law is unknown.
    """
    ends = interval("low", low, least=1.0, most=HIGHEST_HZ), interval("high", high, least=1.0, most=HIGHEST_HZ)
    if ends[0][1] >= ends[1][0]:
        raise ValueError(f"low must stay below high, got {low!r} and {high!r}")
    one_of_names("law", law, LAWS)

    def draw(key: Array, spec: Clip) -> tuple[Array, Array]:
        keys = jax.random.split(key)
        return draw_log_uniform(keys[0], ends[0]), draw_log_uniform(keys[1], ends[1])

    return Op(draw, lambda cutoffs, clip: _through_line(cutoffs, clip, law), name="telephone")


def _through_line(cutoffs: tuple[Array, Array], clip: Clip, law: str) -> Clip:
    clip = silenced(clip)
    line = resample(clip, RATE)
    line = through_sections(functools.partial(high_pass_sections, rate=RATE, order=ORDER), cutoffs[:1], line)
    line = through_sections(functools.partial(low_pass_sections, rate=RATE, order=ORDER), cutoffs[1:], line)
    if law != "none":
        line = silenced(line.replace(wave=_straight_through(companded(line.wave, law=law), line.wave)))
    heard = resample(line, clip.rate).wave[: clip.wave.shape[0]]
    return silenced(clip.replace(wave=heard))


def _straight_through(coded: Array, wave: Array) -> Array:
    """The coded samples, with the derivatives of the samples: those of a code are zero."""
    return wave + jax.lax.stop_gradient(coded - wave)
