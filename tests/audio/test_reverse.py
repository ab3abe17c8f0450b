"""Sound backwards."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.reverse import reverse

APPLY = jax.jit(jax.vmap(reverse().apply))
LENGTHS = (12, 7, 1, 0)


def test_only_the_valid_samples_are_reversed(rng):
    wave = rng.normal(0, 1, (4, 12)).astype(np.float32)
    ours = APPLY(jnp.ones(4, bool), Clip(jnp.asarray(wave), jnp.asarray(LENGTHS))).wave
    for own, given, size in zip(np.asarray(ours), wave, LENGTHS, strict=True):
        np.testing.assert_array_equal(own, np.append(given[:size][::-1], np.zeros(12 - size)))


def test_a_whole_clip_and_one_that_is_not_hit(rng):
    wave = jnp.asarray(rng.normal(0, 1, 9).astype(np.float32))
    np.testing.assert_array_equal(reverse().apply(jnp.asarray(True), Clip(wave)).wave, wave[::-1])
    np.testing.assert_array_equal(reverse().apply(jnp.asarray(False), Clip(wave)).wave, wave)


def test_what_is_no_probability_is_refused():
    with pytest.raises(ValueError, match="p must be a probability"):
        reverse(p=-0.1)
