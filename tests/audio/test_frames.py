"""Frames against an obvious loop."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.audio import frames as module
from jaxkit.audio.frames import frames, in_parts, overlap_add

SHAPES = [(400, 160), (512, 160), (3, 5), (7, 3), (64, 64)]


@pytest.mark.parametrize("width, hop", SHAPES)
@pytest.mark.parametrize("samples, count", [(0, 3), (1, 1), (399, 8), (1601, 0), (1601, 8)])
def test_frames_and_their_sum_equal_a_loop(rng, width, hop, samples, count):
    wave = rng.normal(size=samples).astype(np.float32)
    longer = np.pad(wave, (0, count * hop + width))
    rows = [longer[i * hop : i * hop + width] for i in range(count)]
    expected = np.stack(rows) if rows else np.zeros((0, width), np.float32)
    got = frames(jnp.asarray(wave), width=width, hop=hop, count=count)
    np.testing.assert_array_equal(got, expected)
    summed = np.zeros((count - 1) * hop + width if count else 0)
    for i, row in enumerate(rows):
        summed[i * hop : i * hop + width] += row
    np.testing.assert_allclose(overlap_add(got, hop=hop), summed, atol=1e-5)


def test_parts_of_long_waves_do_not_show(rng, monkeypatch):
    monkeypatch.setattr(module, "MOST_FRAMES", 8)
    wave, function = jnp.asarray(rng.normal(size=21 * 4 + 6), jnp.float32), _plain_frames
    made = in_parts(function, wave, width=10, hop=4, count=21)
    np.testing.assert_array_equal(made, function(wave, 21))


def _plain_frames(wave, count):
    return jnp.stack([wave[4 * i : 4 * i + 10] for i in range(count)])
