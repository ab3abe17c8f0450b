"""The input of wav2vec 2.0 and its relatives: the wave itself, normalised."""

import jax.numpy as jnp

from jaxkit.audio.extent import length, silenced
from jaxkit.audio.statistics import moments
from jaxkit.records import Clip

VARIANCE_FLOOR = 1e-7


def wav2vec2_norm(clip: Clip) -> Clip:
    """The wave with zero mean and unit variance over its valid samples.

    As `Wav2Vec2FeatureExtractor` of transformers with `do_normalize` and an attention mask: padding stays zero, and
    1e-7 is added to the variance, so that silence stays silent.

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if the wave is not `[T]`.
    """
    clip = silenced(clip)
    count = length(clip)
    _, deviations, squares = moments(clip.wave.astype(jnp.float32), count)
    variance = squares / jnp.maximum(count, 1).astype(jnp.float32)
    return clip.replace(wave=(deviations / jnp.sqrt(variance + VARIANCE_FLOOR)).astype(clip.wave.dtype))
