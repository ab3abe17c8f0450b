"""Kaldi's frames against loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.kaldi_frames import CHUNK, Framing, featured, frame_count, in_chunks, mirrored


def _mirror(place: int, samples: int) -> int:
    while not 0 <= place < samples:
        place = -place - 1 if place < 0 else 2 * samples - 1 - place
    return place


@pytest.mark.parametrize("snip_edges", [True, False])
@pytest.mark.parametrize("width, hop", [(400, 160), (401, 160), (64, 161)])
def test_frames_equal_a_loop_whatever_the_length(rng, width, hop, snip_edges):
    rate, capacity = 1_000_000, 1000
    framing = Framing(width / 1000, hop / 1000, snip_edges=snip_edges, input_scale="unit")
    made = jax.jit(lambda clip: featured(clip, framing, lambda frames: frames))
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
            np.testing.assert_array_equal(values[i], wave[places])
        np.testing.assert_array_equal(values[count:], 0)


def test_chunks_do_not_show(rng):
    count = 2 * CHUNK + 5
    wave = jnp.asarray(rng.normal(size=count * 4 + 6), jnp.float32)
    made = in_chunks(lambda frames: frames * 2, wave, width=10, hop=4, count=count)
    expected = np.stack([2 * wave[4 * i : 4 * i + 10] for i in range(3)])
    assert made.shape == (count, 10)
    np.testing.assert_array_equal(made[:3], expected)
    np.testing.assert_array_equal(made[-1], 2 * wave[4 * count - 4 : 4 * count + 6])


def test_nothing_has_no_mirror_image():
    np.testing.assert_array_equal(mirrored(jnp.zeros(0), 0, before=2, after=3), np.zeros(5))
    np.testing.assert_array_equal(mirrored(jnp.ones(4), 0, before=2, after=3)[:2], np.ones(2))
