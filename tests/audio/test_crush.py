"""Too few bits, and limits, against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.crush import bit_crush, clip, quantile

CRUSH = jax.jit(jax.vmap(bit_crush().apply))
QUANTILE = jax.jit(jax.vmap(quantile))
LENGTHS = np.array([200, 131, 10, 1, 0])


def _clips(rng):
    wave = rng.normal(0, 0.3, (5, 200)).astype(np.float32)
    wave[:, 5] = wave[:, 4]
    garbage = np.where(np.arange(200) < LENGTHS[:, None], wave, np.nan)
    return wave, Clip(jnp.asarray(garbage), jnp.asarray(LENGTHS, jnp.int32))


@pytest.mark.parametrize("bits", [1, 4, 12, 24])
def test_samples_are_multiples(bits, rng):
    wave, clips = _clips(rng)
    ours = np.asarray(CRUSH(jnp.full(5, bits, jnp.int32), clips).wave)
    step = 2.0 ** (1 - bits)
    for own, given, size in zip(ours, wave, LENGTHS, strict=True):
        expected = np.round(given[:size].astype(np.float64) / step) * step
        np.testing.assert_array_equal(own, np.append(expected, np.zeros(200 - size)).astype(np.float32))


def test_bits_are_drawn_with_both_ends():
    op = bit_crush(bits=(3, 5))
    drawn = jax.vmap(lambda key: op.draw(key, None))(jax.random.split(jax.random.key(0), 64))
    assert set(np.asarray(drawn).tolist()) == {3, 4, 5}


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.85, 1.0])
def test_quantile_is_the_sorted_sample(share, rng):
    wave, clips = _clips(rng)
    ours = QUANTILE(clips, jnp.full(5, share, jnp.float32))
    for own, given, size in zip(ours, wave, LENGTHS, strict=True):
        ranked = np.sort(np.abs(given[:size]))
        assert float(own) == (np.quantile(ranked, np.float32(share), method="inverted_cdf") if size else 0)


@pytest.mark.parametrize("scale", [1e-37, 1e-10, 1e4])
def test_quantile_is_exact_at_any_level(scale, rng):
    wave = (rng.normal(0, 1, (5, 200)) * scale).astype(np.float32)
    whole = Clip(jnp.asarray(wave), jnp.full(5, 200, jnp.int32))
    expected = np.sort(np.abs(wave), axis=1)[:, 99]
    np.testing.assert_array_equal(QUANTILE(whole, jnp.full(5, 0.5)), expected)


@pytest.mark.parametrize("percent", [0.0, 10.0, 100.0])
def test_hard_limits_the_share_that_is_asked(percent, rng):
    wave, clips = _clips(rng)
    ours = np.asarray(jax.jit(jax.vmap(clip(percent=(0, 100)).apply))(jnp.full(5, percent), clips).wave)
    limit = np.sort(np.abs(wave[0]))[max(199 - int(2 * percent), 0)]
    np.testing.assert_array_equal(ours[0], np.clip(wave[0], -limit, limit))
    np.testing.assert_array_equal(ours[2, 10:], 0)
    assert np.isfinite(ours).all()


def test_soft_bends_towards_the_level(rng):
    wave, clips = _clips(rng)
    ours = np.asarray(jax.jit(jax.vmap(clip(level=(0.1, 0.5), kind="soft").apply))(jnp.full(5, 0.2), clips).wave)
    np.testing.assert_allclose(ours[0], 0.2 * np.tanh(wave[0] / 0.2), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_derivatives_follow_differences(kind, rng):
    wave, op, weights = rng.normal(0, 1, 50), clip(percent=(20, 20), kind=kind), rng.normal(0, 1, 50)

    def total(wave):
        return jnp.vdot(op.apply(jnp.float32(20.0), Clip(wave)).wave, jnp.asarray(weights, jnp.float32))

    slopes, total = jax.jit(jax.grad(total)), jax.jit(total)
    slope = slopes(jnp.asarray(wave, jnp.float32))
    # The sample that sets the limit moves all that are limited.
    at = np.argsort(np.abs(wave))[39]
    change = np.where(np.arange(50) == at, 1e-3, 0)
    up, down = (float(total(jnp.asarray(wave + sign * change, jnp.float32))) for sign in (1, -1))
    assert abs(float(slope[at]) - (up - down) / 2e-3) < 1e-2
    silent = slopes(jnp.zeros(50))
    assert np.isfinite(silent).all()


def test_wrong_recipes_are_refused():
    for wrong in ((0, 8), (4, 25), (4.5, 8), 8):
        with pytest.raises(ValueError, match="bits"):
            bit_crush(bits=wrong)
    with pytest.raises(ValueError, match="percent or level, got both"):
        clip(percent=(0, 1), level=(0.1, 0.2))
    with pytest.raises(ValueError, match="level"):
        clip(level=(0.0, 0.2))
    with pytest.raises(ValueError, match="percent"):
        clip(percent=(0, 101))
    with pytest.raises(ValueError, match="kind must be one of hard, soft"):
        clip(kind="tube")
