"""Ops that add noise made on the spot: white, or of a spectrum that falls or rises evenly per octave."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit import noise
from jaxkit.audio.extent import inside, silenced
from jaxkit.audio.frames import overlap_add
from jaxkit.audio.noise_ops import mixed
from jaxkit.boundary import in_turn
from jaxkit.op import Op
from jaxkit.ranges import draw_uniform, interval
from jaxkit.records import Clip

Array = jax.Array
Params = dict[str, Array]
BLOCK = 2**14
LOWEST_HZ = 20.0


def gaussian_snr(*, snr_db: tuple[float, float] = (5.0, 20.0)) -> Op:
    """Adds white Gaussian noise at a signal-to-noise ratio in dB that is drawn uniformly.

    The ratio holds between the powers of the valid samples and of the noise that is added to them; silence stays
    silence. The params are `seed` (`[2]` uint32) and `snr_db` (float32). Equal seeds give equal noise, however long
    the clip.

    Raises:
      ValueError: when built, if `snr_db` is no finite (low, high).
    """
    ends = interval("snr_db", snr_db)

    def draw(key: Array, spec: Clip) -> Params:
        own, ratio = jax.random.split(key)
        return {"seed": noise.seed(own), "snr_db": draw_uniform(ratio, ends)}

    def apply(params: Params, clip: Clip) -> Clip:
        white = lambda params, clip: noise.exact_normal(params["seed"], clip.wave.shape)  # noqa: E731
        return in_turn(functools.partial(_with_noise, white), params, clip)

    return Op(draw, apply, name="gaussian_snr")


def coloured_noise(*, snr_db: tuple[float, float] = (5.0, 20.0), exponent: tuple[float, float] = (-2.0, 2.0)) -> Op:
    """Adds Gaussian noise whose power density goes with a power of the frequency, drawn uniformly.

    An exponent of -2 is brown (6 dB less per octave), -1 pink, 0 white, 1 blue, 2 violet noise. Below 20 Hz the density
    is even, and nothing is at 0 Hz. The ratio holds between the powers of the valid samples and of the noise that is
    added to them; silence stays silence. The params are `seed` (`[2]` uint32), `exponent` and `snr_db` (float32).

    Args:
      snr_db: the range of the ratio.
      exponent: the range of the power.

    Raises:
      ValueError: when built, if a range is no finite (low, high), or the exponent exceeds 8 in magnitude.
    """
    ends, powers = interval("snr_db", snr_db), interval("exponent", exponent, least=-8.0, most=8.0)

    def draw(key: Array, spec: Clip) -> Params:
        own, ratio, power = jax.random.split(key, 3)
        drawn = {"snr_db": draw_uniform(ratio, ends), "exponent": draw_uniform(power, powers)}
        return {"seed": noise.seed(own), **drawn}

    def apply(params: Params, clip: Clip) -> Clip:
        return in_turn(functools.partial(_with_noise, _shaped), params, clip)

    return Op(draw, apply, name="coloured_noise")


def coloured(seed: Array, exponent: Array, samples: int, *, rate: int) -> Array:
    """Gaussian noise `[samples]` float32 with a power density that goes with `frequency ** exponent`.

    Blocks of 2**14 samples are drawn as spectra and fade into each other with constant power, so a longer wave starts
    with the samples of a shorter one.
    """
    blocks = -(-2 * samples // BLOCK) + 1
    spectra = noise.normal(seed, (blocks, BLOCK)) * _density(exponent, rate)[None]
    spectra = jax.lax.complex(spectra[:, : BLOCK // 2], spectra[:, BLOCK // 2 :])
    waves = jnp.fft.irfft(jnp.pad(spectra, ((0, 0), (0, 1))), n=BLOCK)
    fade = np.sin(np.pi * (np.arange(BLOCK) + 0.5) / BLOCK).astype(np.float32)
    return overlap_add(waves * fade[None], hop=BLOCK // 2)[BLOCK // 2 :][:samples]


def _density(exponent: Array, rate: int) -> Array:
    """The amplitude of each part `[BLOCK]` of a spectrum; the largest is one."""
    steps = np.arange(BLOCK // 2)
    octaves = np.log(np.maximum(steps * (rate / BLOCK), LOWEST_HZ) / (rate / 2)).astype(np.float32)
    level = 0.5 * exponent * octaves
    half = jnp.where(steps == 0, 0.0, jnp.exp(level - jax.lax.stop_gradient(jnp.max(level))))
    return jnp.concatenate([half, half])


def _shaped(params: Params, clip: Clip) -> Array:
    return coloured(params["seed"], params["exponent"], clip.wave.shape[0], rate=clip.rate)


def _with_noise(make: Callable[[Params, Clip], Array], params: Params, clip: Clip) -> Clip:
    clip = silenced(clip)
    made = make(params, clip)
    made = made if clip.length is None else jnp.where(inside(clip), made, 0.0)
    wave = mixed(clip.wave.astype(jnp.float32), made, params["snr_db"])
    return clip.replace(wave=wave.astype(clip.wave.dtype))
