"""Recorded noise against a loop over samples, and the ratio that was asked for."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip, batch
from jaxkit.audio.bank import Bank
from jaxkit.audio.noise_ops import add_noise, first_sample
from tests.audio.speech import clips

SIZE = 24000
LENGTHS = (24000, 18000, 23999, 5000, 500, 1, 0, 16001)
NOISES = (500, 9000, 40000, 1)


@functools.cache
def _bank(store="float32"):
    rng = np.random.default_rng(2)
    return Bank.from_waves([rng.normal(0, 0.1, n).clip(-1, 1).astype(np.float32) for n in NOISES], store=store)


@functools.cache
def _speech():
    wave = np.zeros((len(LENGTHS), SIZE), np.float32)
    for row, (_, speech) in zip(wave, clips() * len(LENGTHS), strict=False):
        row[:] = np.resize(speech[8000:], SIZE)
    return Clip(jnp.asarray(wave), jnp.asarray(LENGTHS, jnp.int32))


@functools.cache
def _op():
    return batch(add_noise(bank=_bank(), snr_db=(-5.0, 20.0)))


def _params(member, offset=0.37, snr_db=6.5):
    return {
        "member": jnp.asarray(member, jnp.int32),
        "offset": jnp.full(len(member), offset, jnp.float32),
        "snr_db": jnp.full(len(member), snr_db, jnp.float32),
    }


def _loop(wave, noise, offset, snr_db):
    """A sample at a time, in float64."""
    places = len(noise) - len(wave) + 1 if len(noise) >= len(wave) else len(noise)
    start = int(np.floor(np.float32(offset) * np.float32(places)))
    added = np.array([noise[(start + i) % len(noise)] for i in range(len(wave))], np.float64)
    ratio = (wave**2).sum() / (added**2).sum() if len(wave) else 0.0
    return wave + added * np.sqrt(ratio) * 10 ** (-snr_db / 20)


@pytest.mark.parametrize("shift", range(4))
def test_noise_is_the_loop(shift):
    clip, members = _speech(), (np.arange(8) + shift) % 4
    ours = np.asarray(_op().apply(_params(members), clip).wave)
    for row, wave, size, member in zip(ours, np.asarray(clip.wave), LENGTHS, members, strict=True):
        expected = _loop(wave[:size].astype(np.float64), _bank().wave(member), 0.37, 6.5)
        np.testing.assert_allclose(row[:size], expected, atol=1e-6)
        np.testing.assert_array_equal(row[size:], 0)


def test_the_ratio_is_what_was_drawn():
    clip = _speech()
    params = _op().draw(jax.random.key(1), np.arange(8), clip)
    wave, mixed = (np.asarray(value, np.float64) for value in (clip.wave, _op().apply(params, clip).wave))
    for i, size in enumerate(LENGTHS):
        added = mixed[i, :size] - wave[i, :size]
        if size:
            ratio = 10 * np.log10((wave[i, :size] ** 2).sum() / (added**2).sum())
            np.testing.assert_allclose(ratio, params["snr_db"][i], atol=1e-3)


def test_silence_stays_and_silent_noise_adds_nothing():
    clip = _speech()
    silence = clip.replace(wave=jnp.zeros_like(clip.wave))
    np.testing.assert_array_equal(_op()(jax.random.key(0), np.arange(8), silence).wave, 0)
    mute = batch(add_noise(bank=Bank.from_waves([np.zeros(700, np.float32)])))
    expected = np.where(np.arange(SIZE)[None] < np.array(LENGTHS)[:, None], clip.wave, 0)
    np.testing.assert_array_equal(mute(jax.random.key(0), np.arange(8), clip).wave, expected)


def test_draws_reach_all_members_and_all_places():
    op = add_noise(bank=_bank(), snr_db=(-3.0, 9.0))

    @jax.jit
    def draw(key):
        drawn = jax.vmap(lambda i: op.draw(jax.random.fold_in(key, i), Clip(jnp.zeros(8))))(jnp.arange(4000))
        return drawn, [first_sample(drawn["offset"], size, 10) for size in (6, 12)]

    drawn, (inner, repeated) = jax.tree.map(np.asarray, draw(jax.random.key(0)))
    assert set(drawn["member"]) == {0, 1, 2, 3}
    assert -3 <= drawn["snr_db"].min() < -2.9 and 8.9 < drawn["snr_db"].max() <= 9
    assert set(inner) == set(range(5)) and set(repeated) == set(range(10))


def test_int16_noise_is_the_same_to_rounding():
    clip, params = _speech(), _params([2] * 8)
    short = batch(add_noise(bank=_bank("int16"))).apply(params, clip)
    np.testing.assert_allclose(short.wave, _op().apply(params, clip).wave, atol=1e-4)


def test_wrong_recipes_and_rates_are_refused():
    with pytest.raises(ValueError, match="5"):
        add_noise(bank=_bank(), snr_db=(9, 5))
    with pytest.raises(ValueError, match="make one with"):
        add_noise(bank="noises")
    clip = Clip(jnp.zeros((1, 8)), rate=8000)
    with pytest.raises(ValueError, match="the bank has 16000 Hz, the clip 8000 Hz"):
        _op()(jax.random.key(0), np.arange(1), clip)
