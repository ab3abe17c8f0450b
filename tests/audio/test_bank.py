"""Sounds laid end to end, and what is refused by name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.audio.bank import Bank, check_bank

WAVES = (np.array([0.5, -1.0, 0.25], np.float32), np.array([1.0], np.float64), np.array([3, -32768, 7], np.int16))


@pytest.mark.parametrize("store, step", [("float32", 2.0**-24), ("int16", 2.0**-16)])
def test_members_come_back_as_they_were(store, step):
    bank = Bank.from_waves(WAVES, rate=8000, names=["a", "b", "c"], store=store)
    assert bank.samples.dtype == store and len(bank) == 3 and bank.names == ("a", "b", "c")
    np.testing.assert_array_equal(bank.lengths, [3, 1, 3])
    np.testing.assert_array_equal(bank.direct, [1, 0, 1])
    for member, wave in enumerate(WAVES):
        expected = wave / 32768 if wave.dtype == np.int16 else wave
        got = bank.wave(member)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, expected, atol=2 * step)
        np.testing.assert_array_equal(bank.read(jnp.int32(member), 0, len(wave)), got, strict=True)
        assert int(bank.length(jnp.int32(member))) == len(wave)


@pytest.mark.parametrize("size, start", [(1, 0), (3, 2), (4095, 17), (4096, 4095), (9000, 8999), (20000, 15000)])
def test_reading_repeats_a_member(rng, size, start):
    wave = rng.normal(0, 0.1, size).astype(np.float32)
    bank = Bank.from_waves([WAVES[0], wave, WAVES[1]])
    read = jax.jit(lambda member, start: bank.read(member, start, 10000))
    expected = [wave[(start + i) % size] for i in range(10000)]
    np.testing.assert_array_equal(read(jnp.int32(1), jnp.int32(start)), expected)


def test_int16_is_kept_exactly_in_either_store(rng):
    wave = rng.integers(-32768, 32768, 100).astype(np.int16)
    banks = [Bank.from_waves([wave], store=store) for store in ("int16", "float32")]
    np.testing.assert_array_equal(banks[0].samples[:100], wave)
    np.testing.assert_array_equal(banks[0].wave(0), banks[1].wave(0))


@pytest.mark.parametrize(
    "waves, settings, error, words",
    [
        ([], {}, ValueError, "at least one sound"),
        ([np.zeros(3)], {"names": ["a", "b"]}, ValueError, "2 names for 1 sounds"),
        ([np.zeros(3), np.zeros(0)], {"names": ["a", "hum.wav"]}, ValueError, "hum.wav must be one channel"),
        ([np.zeros((2, 3))], {}, ValueError, "member 0 must be one channel"),
        ([np.array([0.0, np.nan])], {}, ValueError, "member 0 holds NaN or infinity at sample 1"),
        ([np.array([0.0, 1.5])], {"store": "int16"}, ValueError, "exceeds full scale"),
        ([np.zeros(3, np.int32)], {}, TypeError, "int32"),
        ([np.zeros(3)], {"store": "int8"}, ValueError, "int8"),
        ([np.zeros(3)], {"rate": 16000.0}, ValueError, "16000.0"),
        ([np.zeros(3)], {"rate": 0}, ValueError, "got 0"),
    ],
)
def test_nonsense_is_refused(waves, settings, error, words):
    with pytest.raises(error, match=words):
        Bank.from_waves(waves, **settings)


def test_other_things_are_no_bank():
    with pytest.raises(ValueError, match="Bank.from_waves"):
        check_bank("add_noise", [np.zeros(3)])
