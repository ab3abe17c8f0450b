"""Kaldi's frames against loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.edges import with_edges
from jaxkit.audio.kaldi_frames import Framing, featured, frame_count, prepared


def _mirror(place: int, samples: int) -> int:
    while not 0 <= place < samples:
        place = -place - 1 if place < 0 else 2 * samples - 1 - place
    return place


@pytest.mark.parametrize("snip_edges", [True, False])
@pytest.mark.parametrize("width, hop", [(400, 160), (401, 160), (64, 161)])
def test_frames_equal_a_loop_whatever_the_length(rng, width, hop, snip_edges):
    rate, capacity = 1_000_000, 1000
    framing = Framing(width / 1000, hop / 1000, "rectangular", 0.0, False, snip_edges, "unit")
    made = jax.jit(lambda clip: featured(clip, framing, 512, lambda prepared: prepared.frames))
    wave = rng.normal(size=capacity).astype(np.float32)
    for samples in (0, 1, 79, 80, 81, 239, 399, 400, 559, 560, 999, 1000):
        padded = np.where(np.arange(capacity) < samples, wave, np.nan)
        features = made(Clip(jnp.asarray(padded), jnp.int32(samples), rate=rate))
        values = np.asarray(features.values)
        count = sum(start + width <= samples for start in range(0, capacity, hop)) if snip_edges else None
        count = (samples + hop // 2) // hop if count is None else count
        assert features.length == count == frame_count(samples, width=width, hop=hop, snip_edges=snip_edges)
        start = 0 if snip_edges else hop // 2 - width // 2
        for i in range(count):
            places = [_mirror(start + i * hop + j, samples) for j in range(width)]
            np.testing.assert_array_equal(values[i], np.pad(wave[places], (0, 512 - width)))
        np.testing.assert_array_equal(values[count:], 0)


def test_frames_are_emphasised_and_windowed_and_their_energy_is_known(rng):
    wave = rng.normal(1, 1, 300).astype(np.float32)
    for name in ("povey", "hamming"):
        framing = Framing(window=name, preemphasis=0.9)
        ours = jax.jit(lambda wave, framing=framing: prepared(wave, framing, 50, 20, 12, 64))(wave)
        for i, (row, energy) in enumerate(zip(np.asarray(ours.frames), np.asarray(ours.raw_energy), strict=True)):
            frame = wave[20 * i : 20 * i + 50].astype(np.float64)
            frame -= frame.mean()
            np.testing.assert_allclose(energy, [(frame**2).sum()], rtol=1e-5)
            frame -= 0.9 * np.append(frame[0], frame[:-1])
            cosine = np.cos(2 * np.pi * np.arange(50) / 49)
            weights = (0.5 - 0.5 * cosine) ** 0.85 if name == "povey" else 0.54 - 0.46 * cosine
            np.testing.assert_allclose(row, np.pad(frame * weights, (0, 14)), atol=1e-5)


def test_nothing_has_no_mirror_image():
    np.testing.assert_array_equal(with_edges(Clip(jnp.zeros(0)), before=2, after=3, mode="symmetric"), np.zeros(5))
