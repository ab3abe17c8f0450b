"""The common middle of the mel presets: counts of frames, and long clips in parts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxkit import Clip
from jaxkit.audio import frames
from jaxkit.audio.mel import mel_filters
from jaxkit.audio.spectrogram import Layout, frame_count, mel_frames

FILTERS = mel_filters(20, n_fft=64, rate=16000)


@pytest.mark.parametrize("n_fft", [64, 63])
@pytest.mark.parametrize("center", [True, False])
def test_frames_are_counted_as_torch_does(n_fft, center):
    layout = Layout(n_fft, 16, n_fft, center=center, pad_mode="constant")
    lengths = np.array([64, 65, 79, 80, 81, 1000])
    expected = [
        torch.stft(
            torch.zeros(n), n_fft, 16, window=torch.ones(n_fft), center=center, pad_mode="constant", return_complex=True
        ).shape[-1]
        for n in lengths
    ]
    assert [frame_count(int(n), layout) for n in lengths] == expected
    np.testing.assert_array_equal(frame_count(jnp.asarray(lengths, jnp.int32), layout), expected)


def test_nothing_has_no_frames():
    for center in (True, False):
        layout = Layout(64, 16, 64, center=center)
        assert frame_count(0, layout) == frame_count(jnp.int32(0), layout) == 0
        powers = jax.eval_shape(lambda clip, layout=layout: mel_frames(clip, FILTERS, layout), Clip(jnp.zeros(0)))
        assert powers.values.shape == (0, 20)


@pytest.mark.parametrize("exponent", [1.0, 2.0])
def test_many_frames_are_worked_on_in_parts(exponent, monkeypatch, rng):
    clip = Clip(jnp.asarray(rng.normal(size=1000), jnp.float32))
    layout = Layout(64, 16, 64)
    powers = lambda clip: mel_frames(clip, FILTERS, layout, exponent=exponent).values  # noqa: E731
    at_once = jax.jit(powers)(clip)
    monkeypatch.setattr(frames, "MOST_FRAMES", 9)
    in_parts = jax.jit(lambda clip: powers(clip))(clip)
    np.testing.assert_allclose(in_parts, at_once, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_widened_first(dtype, rng):
    wave = jnp.asarray(rng.normal(size=300), dtype)
    layout = Layout(64, 16, 64)
    powers = jax.jit(lambda clip: mel_frames(clip, FILTERS, layout).values)
    got = powers(Clip(wave))
    assert got.dtype == jnp.float32
    np.testing.assert_array_equal(got, powers(Clip(wave.astype(jnp.float32))))
