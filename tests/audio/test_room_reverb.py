"""Rooms made on the spot: alignment, energy, and what is drawn."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip, batch
from jaxkit.audio.room_reverb import room_reverb

SIZE = ((3.0, 5.0), (3.0, 4.0), (2.5, 3.0))


@functools.cache
def _op():
    return batch(room_reverb(size=SIZE, t60=(0.05, 0.2), seconds=0.03))


@functools.cache
def _drawn():
    return jax.tree.map(np.asarray, _op().draw(jax.random.key(1), np.arange(200), Clip(jnp.zeros((200, 8)))))


def _clips(rng):
    return Clip(jnp.asarray(rng.normal(0, 0.1, (3, 4000)), jnp.float32), jnp.array([4000, 2500, 0], jnp.int32))


def test_energy_and_length_are_kept(rng):
    clip = _clips(rng)
    wet = _op().apply(jax.tree.map(lambda leaf: leaf[:3], _drawn()), clip)
    for before, after, size in zip(np.asarray(clip.wave), np.asarray(wet.wave), (4000, 2500, 0), strict=True):
        np.testing.assert_allclose((after[:size] ** 2).sum(), (before[:size] ** 2).sum(), rtol=1e-4)
        np.testing.assert_array_equal(after[size:], 0)
        assert size == 0 or np.abs(after - before).max() > 0.01


def test_the_straight_way_is_time_zero():
    wave = np.zeros((3, 4000), np.float32)
    wave[:, 1000] = 1.0
    clip = Clip(jnp.asarray(wave), jnp.full(3, 4000, jnp.int32))
    wet = np.asarray(_op().apply(jax.tree.map(lambda leaf: leaf[:3], _drawn()), clip).wave)
    np.testing.assert_array_equal(np.argmax(np.abs(wet), axis=1), 1000)
    assert np.abs(wet[:, :980]).max() < 1e-6 and np.abs(wet[:, 1001:1800]).max() > 0.01


def test_draws_stay_in_their_rooms():
    drawn = _drawn()
    for name in ("source", "microphone"):
        assert (drawn[name] >= 0.3).all() and (drawn[name] <= drawn["room"] - 0.3).all()
    ends = np.array(SIZE)
    assert (drawn["room"] >= ends[:, 0]).all() and (drawn["room"] <= ends[:, 1]).all()
    assert (np.ptp(drawn["room"], axis=0) > 0.9 * np.ptp(ends, axis=1)).all()
    assert 0.05 <= drawn["t60"].min() < 0.07 and 0.18 < drawn["t60"].max() <= 0.2


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"size": (3, 4)}, "three pairs"),
        ({"size": ((3, 4), (0.1, 4), (3, 4))}, r"size\[1\]"),
        ({"t60": (0.0, 1.0)}, "t60"),
        ({"seconds": 0}, "seconds"),
        ({"seconds": float("inf")}, "seconds"),
    ],
)
def test_wrong_recipes_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        room_reverb(**settings)
