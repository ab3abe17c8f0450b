"""Frames against an obvious loop."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.audio.frames import frames, overlap_add

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
