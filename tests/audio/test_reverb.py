"""Rooms against a direct sum: alignment, energy, and the early part."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip, batch
from jaxkit.audio.bank import Bank
from jaxkit.audio.reverb import reverb
from tests.audio.speech import clips

SIZE = 12000
LENGTHS = (12000, 9000, 500, 1, 0)
DELAYS = (0, 37, 300, 80)


@functools.cache
def _bank():
    rng = np.random.default_rng(4)
    waves = []
    for delay, size in zip(DELAYS, (1, 1500, 3000, 400), strict=True):
        wave = np.zeros(delay + size)
        wave[delay:] = rng.normal(0, 0.2, size) * np.exp(-np.arange(size) / 500.0)
        wave[: delay // 2] = 0.01
        wave[delay] = 1.0
        waves.append(wave.astype(np.float32))
    return Bank.from_waves(waves)


@functools.cache
def _op(early_only=False):
    return batch(reverb(bank=_bank(), early_only=early_only))


def _speech():
    wave = np.stack([np.resize(speech[8000:], SIZE) for _, speech in (clips() * 5)[:5]])
    return Clip(jnp.asarray(wave), jnp.asarray(LENGTHS, jnp.int32))


def _loop(wave, response, delay, early=None):
    """The sum in float64, from the direct path on, with the energy of the clip."""
    response = response[: None if early is None else delay + early + 1].astype(np.float64)
    wave = wave.astype(np.float64)
    wet = np.convolve(wave, response)[delay : delay + len(wave)] if len(wave) else wave
    return wet * np.sqrt((wave**2).sum() / max((wet**2).sum(), 1e-300))


@pytest.mark.parametrize("early_only, early", [(False, None), (True, 800)])
@pytest.mark.parametrize("shift", [0, 1, 3])
def test_reverberation_is_the_sum(early_only, early, shift):
    members, clip = (np.arange(5) + shift) % 4, _speech()
    ours = np.asarray(_op(early_only).apply({"member": jnp.asarray(members, jnp.int32)}, clip).wave)
    for row, wave, size, member in zip(ours, np.asarray(clip.wave), LENGTHS, members, strict=True):
        expected = _loop(wave[:size], _bank().wave(member), DELAYS[member], early)
        np.testing.assert_allclose(row[:size], expected, atol=2e-6)
        np.testing.assert_array_equal(row[size:], 0)


def test_an_impulse_with_a_delay_is_the_identity():
    bank = Bank.from_waves([np.eye(1, 400, delay, dtype=np.float32)[0] for delay in (0, 17, 399)])
    clip = Clip(_speech().wave[:3])
    wet = batch(reverb(bank=bank)).apply({"member": jnp.arange(3)}, clip)
    np.testing.assert_allclose(wet.wave, clip.wave, atol=1e-6)


def test_silence_stays_and_all_members_are_drawn():
    silence = Clip(jnp.zeros((5, SIZE)), jnp.asarray(LENGTHS, jnp.int32))
    np.testing.assert_array_equal(_op()(jax.random.key(0), np.arange(5), silence).wave, 0)
    drawn = _op().draw(jax.random.key(0), np.arange(200), Clip(jnp.zeros((200, 8))))
    assert set(np.asarray(drawn["member"])) == {0, 1, 2, 3}


def test_wrong_recipes_and_rates_are_refused():
    with pytest.raises(ValueError, match="make one with"):
        reverb(bank=None)
    with pytest.raises(ValueError, match="early_only"):
        reverb(bank=_bank(), early_only=1)
    with pytest.raises(ValueError, match="8000 Hz"):
        _op()(jax.random.key(0), np.arange(1), Clip(jnp.zeros((1, 8)), rate=8000))
