"""The filter banks of models that were trained on Kaldi's, as transformers makes them."""

import jax.numpy as jnp
import numpy as np

from jaxkit.audio.cmvn import cmvn
from jaxkit.audio.extent import check
from jaxkit.audio.frame_mask import frame_length, valid
from jaxkit.audio.kaldi import kaldi_fbank
from jaxkit.audio.stack import stack_frames
from jaxkit.ranges import flag
from jaxkit.records import Clip, Features

RATE = 16000
AST_MEAN, AST_STD = -4.2677393, 4.5689974


def seamless_fbank(clip: Clip, *, n_mels: int = 80, stride: int = 2, normalize: bool = True) -> Features:
    """What SeamlessM4T and w2v-BERT read: Kaldi's filter bank, normalised per bin, `stride` frames in a row.

    As `SeamlessM4TFeatureExtractor` of transformers with padding of the batch: the variance over the valid frames is
    the unbiased one plus 1e-7. An odd last frame counts there but is no row, as in the attention mask.

    Args:
      clip: one clip at 16 kHz.
      n_mels: number of filters.
      stride: frames in a row.
      normalize: whether bins are normalised.

    Returns:
      `[frames // stride, n_mels * stride]`.

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if the clip is not one channel at 16 kHz, or a setting is out of its range.
    """
    check(clip, rate=RATE)
    features = kaldi_fbank(clip, n_mels=n_mels)
    features = cmvn(features, ddof=1, floor=0.0, epsilon=1e-7) if flag("normalize", normalize) else features
    return stack_frames(features, size=stride)


def speech2text_fbank(
    clip: Clip, *, n_mels: int = 80, normalize_means: bool = True, normalize_vars: bool = True
) -> Features:
    """What Speech2Text reads: Kaldi's filter bank, normalised over the utterance.

    As `Speech2TextFeatureExtractor` of transformers, which divides by zero where a bin never changes: here it is zero.

    Args:
      clip: one clip at 16 kHz.
      n_mels: number of filters.
      normalize_means: whether the mean is subtracted.
      normalize_vars: whether the variance is normalised too. It needs the mean.

    Returns:
      `[frames, n_mels]`.

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if the clip is not one channel at 16 kHz, or a setting is out of its range.
    """
    check(clip, rate=RATE)
    if flag("normalize_vars", normalize_vars) and not flag("normalize_means", normalize_means):
        raise ValueError("normalize_vars=True needs normalize_means=True; cmvn offers nothing else")
    features = kaldi_fbank(clip, n_mels=n_mels)
    return cmvn(features, variance=normalize_vars) if normalize_means else features


def ast_fbank(
    clip: Clip,
    *,
    n_mels: int = 128,
    max_length: int | None = None,
    mean: float = AST_MEAN,
    std: float = AST_STD,
    normalize: bool = True,
) -> Features:
    """What the Audio Spectrogram Transformer reads: Kaldi's filter bank of the unscaled wave, over twice a deviation.

    As `ASTFeatureExtractor` of transformers.

    Args:
      clip: one clip at 16 kHz.
      n_mels: number of filters.
      max_length: frames of the result; more are cut, fewer are filled up as the reference does: with zeros before the
        normalisation. The reference has 1024. None: as many as the clip has.
      mean: of the corpus.
      std: of the corpus; the features are divided by twice of it.
      normalize: whether they are normalised.

    Returns:
      `[max_length or frames, n_mels]`.

    Raises:
      TypeError: if the wave is not floating.
      ValueError: if the clip is not one channel at 16 kHz, or a setting is out of its range.
    """
    check(clip, rate=RATE)
    if max_length is not None and (type(max_length) is not int or max_length < 1):
        raise ValueError(f"max_length is a number of frames of at least 1, or None, got {max_length!r}")
    features = kaldi_fbank(clip, n_mels=n_mels, window="hann", input_scale="unit")
    values, length = features.values, frame_length(features)
    if max_length is not None:
        values = jnp.pad(values[:max_length], ((0, max(0, max_length - values.shape[0])), (0, 0)))
        length = jnp.minimum(length, max_length)
    shift, scale = (np.float32(mean), np.float32(1 / (2 * std))) if flag("normalize", normalize) else (0.0, 1.0)
    values = (values - shift) * scale
    if max_length is None and features.length is not None:
        values = jnp.where(valid(values, length), values, 0.0)
    told = features.length is not None or max_length is not None
    return Features(values, jnp.asarray(length, jnp.int32) if told else None)
