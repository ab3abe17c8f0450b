"""Laws of warping along time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Features
from jaxkit.audio.time_warp import time_warp

FRAMES = 200
APPLY = jax.jit(jax.vmap(time_warp(frames=30.0).apply))


def _ramp(length):
    """Features that tell the time, with NaN behind."""
    times = np.arange(FRAMES, dtype=np.float32)[:, None] * np.array([1, -2], np.float32)
    return np.where(np.arange(FRAMES)[:, None] < length, times, np.float32(np.nan))


def _warped(lengths, places, ways):
    features = Features(jnp.asarray(np.stack([_ramp(n) for n in lengths])), jnp.asarray(lengths, jnp.int32))
    return np.asarray(APPLY((jnp.asarray(places, jnp.float32), jnp.asarray(ways, jnp.float32)), features).values)


def test_the_chosen_frame_moves_and_the_rest_stretches(rng):
    lengths, places, ways = (200, 150, 101, 200), (0.0, 0.3, 0.99, 0.5), (30.0, -12.5, 7.0, -30.0)
    for row, length, place, way in zip(_warped(lengths, places, ways), lengths, places, ways, strict=True):
        source = 30 + place * (length - 1 - 60)
        corners = [0, source + way, length - 1]
        expected = np.interp(np.arange(length), corners, [0, source, length - 1])
        np.testing.assert_allclose(row[:length], expected[:, None] * [1, -2], atol=2e-3)
        np.testing.assert_array_equal(row[length:], 0)


def test_short_clips_move_by_less_than_half():
    for length in (0, 1, 2, 5, 40):
        for way in (-30.0, 30.0):
            row = _warped([length] * 4, [0.5] * 4, [way] * 4)[0]
            assert np.isfinite(row).all() and (np.diff(row[:length, 0]) >= 0).all()
            np.testing.assert_array_equal(row[length:], 0)
            if length:
                np.testing.assert_allclose(row[[0, length - 1], 0], [0, length - 1], atol=1e-4)


def test_draws_are_uniform():
    spec = Features(jax.ShapeDtypeStruct((FRAMES, 2), jnp.float32))
    draw = jax.jit(jax.vmap(lambda key: time_warp().draw(key, spec)))
    place, way = map(np.asarray, draw(jax.random.split(jax.random.key(1), 2000)))
    for values, low, high in ((place, 0, 1), (way, -80, 80)):
        assert low <= values.min() and values.max() <= high
        np.testing.assert_allclose(values.mean(), (low + high) / 2, atol=0.04 * (high - low))
        np.testing.assert_allclose(values.std(), (high - low) / np.sqrt(12), rtol=0.05)
    assert abs(np.corrcoef(place, way)[0, 1]) < 0.1


@pytest.mark.parametrize("frames", [-1, "many", np.nan])
def test_wrong_recipes_are_refused(frames):
    with pytest.raises(ValueError, match="frames"):
        time_warp(frames=frames)
