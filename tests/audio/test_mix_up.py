"""Blends of two."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.mix_up import mix_up

IDS = np.array([4, 9, 2, 30, 7])
LENGTHS = np.array([20, 11, 0, 5, 16])
MIXED = jax.jit(mix_up())


def _clips(rng):
    return Clip(jnp.asarray(rng.normal(0, 1, (5, 20)).astype(np.float32)), jnp.asarray(LENGTHS, jnp.int32))


def test_the_blend_is_what_partner_and_weight_say(rng):
    given = _clips(rng)
    clips, partner, weight = jax.tree.map(np.asarray, MIXED(jax.random.key(0), IDS, given))
    clean = np.where(np.arange(20) < LENGTHS[:, None], given.wave, 0)
    expected = weight[:, None] * clean + (1 - weight[:, None]) * clean[partner]
    np.testing.assert_allclose(clips.wave, expected, atol=1e-6)
    np.testing.assert_array_equal(clips.length, np.maximum(LENGTHS, LENGTHS[partner]))


@pytest.mark.parametrize("seed", range(5))
def test_everybody_is_a_partner_once_and_nobody_their_own(seed, rng):
    _, partner, _ = MIXED(jax.random.key(seed), IDS, _clips(rng))
    assert sorted(np.asarray(partner)) == list(range(5))
    assert (np.asarray(partner) != np.arange(5)).all()


def test_pairs_and_blends_do_not_depend_on_the_order(rng):
    order, given = np.array([3, 0, 4, 1, 2]), _clips(rng)
    clips, partner, weight = MIXED(jax.random.key(1), IDS, given)
    other, partner_too, weight_too = MIXED(jax.random.key(1), IDS[order], jax.tree.map(lambda x: x[order], given))
    np.testing.assert_array_equal(IDS[order][np.asarray(partner_too)], IDS[np.asarray(partner)][order])
    np.testing.assert_array_equal(weight_too, np.asarray(weight)[order])
    np.testing.assert_array_equal(other.wave, np.asarray(clips.wave)[order])


def test_padding_does_not_matter(rng):
    given = _clips(rng)
    garbage = jnp.where(jnp.arange(20)[None] < given.length[:, None], given.wave, jnp.nan)
    clean, dirty = (MIXED(jax.random.key(0), IDS, clip)[0] for clip in (given, given.replace(wave=garbage)))
    np.testing.assert_array_equal(clean.wave, dirty.wave)


def test_weights_have_the_moments_of_their_distribution(rng):
    given = _clips(rng)
    weight = np.concatenate([MIXED(key, IDS, given)[2] for key in jax.random.split(jax.random.key(2), 100)])
    np.testing.assert_allclose([weight.mean(), weight.var()], [0.5, 1 / (4 * (2 * 0.4 + 1))], rtol=0.12)


def test_a_weight_needs_a_positive_alpha():
    with pytest.raises(ValueError, match="alpha"):
        mix_up(alpha=0.0)
