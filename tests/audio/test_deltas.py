"""Derivatives of features against kaldi-native-fbank, librosa and torch."""

import functools

import jax
import jax.numpy as jnp
import kaldi_native_fbank as knf
import librosa
import numpy as np
import pytest
import torch

from jaxkit import Features
from jaxkit.audio.deltas import deltas

FRAMES, BINS = 30, 3


def _knf(values, order, window):
    return knf.compute_deltas(knf.DeltaOptions(order=order, window=window), values)


def _torchaudio(values, order, window):
    """What torchaudio documents: a convolution with repeated edges, for each order again."""
    weights = torch.arange(-window, window + 1, dtype=torch.float32).expand(BINS, 1, -1)
    derived = [torch.from_numpy(values.T.copy())]
    for _ in range(order):
        padded = torch.nn.functional.pad(derived[-1][None], (window, window), mode="replicate")
        slope = torch.nn.functional.conv1d(padded, weights, groups=BINS)[0]
        derived.append(slope / (weights[0] ** 2).sum())
    return torch.cat(derived).numpy().T


def _librosa(values, order, window):
    parts = [librosa.feature.delta(values, width=2 * window + 1, order=n, axis=0) for n in range(1, order + 1)]
    return np.concatenate([values, *parts], axis=1)


@pytest.mark.parametrize("order, window", [(2, 2), (3, 4)])
@pytest.mark.parametrize("kind, reference", [("kaldi", _knf), ("torchaudio", _torchaudio), ("librosa", _librosa)])
def test_deltas_are_those_of_the_library(rng, kind, reference, order, window):
    values = rng.normal(3, 2, (FRAMES, BINS)).astype(np.float32)
    made = jax.jit(functools.partial(deltas, kind=kind, order=order, window=window))
    for length in (FRAMES, 17, 9):
        padded = np.where(np.arange(FRAMES)[:, None] < length, values, np.float32(np.nan))
        ours = np.asarray(made(Features(jnp.asarray(padded), jnp.int32(length))).values)
        np.testing.assert_allclose(ours[:length], reference(values[:length], order, window), atol=1e-5)
        np.testing.assert_array_equal(ours[length:], 0)
    assert made(Features(jnp.asarray(values))).length is None


@pytest.mark.parametrize("kind", ["kaldi", "torchaudio", "librosa"])
def test_lines_and_short_clips(kind):
    made = jax.jit(functools.partial(deltas, kind=kind, order=1))
    line = made(Features(jnp.arange(40.0).reshape(20, 2) / 2)).values
    np.testing.assert_allclose(line[2:-2, 2:], 1, atol=1e-5)
    for length in (0, 1, 2):
        short = made(Features(jnp.ones((20, 2)), jnp.int32(length))).values
        np.testing.assert_allclose(short[:, 2:], 0, atol=1e-6)


def test_wrong_settings_are_refused():
    features = Features(jnp.zeros((3, 2)))
    with pytest.raises(ValueError, match="htk"):
        deltas(features, kind="htk")
    with pytest.raises(ValueError, match="order must be"):
        deltas(features, order=0)
    with pytest.raises(ValueError, match="order <= 2"):
        deltas(features, kind="librosa", order=3, window=1)
