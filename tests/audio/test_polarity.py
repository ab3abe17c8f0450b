"""The sign of a wave."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.polarity import polarity


def test_the_sign_changes_or_nothing_does(rng):
    wave = rng.normal(0, 1, 20).astype(np.float32)
    for hit, sign in ((True, -1), (False, 1)):
        np.testing.assert_array_equal(polarity().apply(jnp.asarray(hit), Clip(jnp.asarray(wave))).wave, sign * wave)


def test_the_padding_is_silent():
    wave = jnp.asarray([1.0, 2.0, np.nan, 7.0])
    np.testing.assert_array_equal(polarity().apply(jnp.asarray(True), Clip(wave, jnp.int32(2))).wave, [-1, -2, 0, 0])


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_the_share_is_p(p):
    op = polarity(p=p)
    hits = np.asarray(jax.vmap(lambda key: op.draw(key, None))(jax.random.split(jax.random.key(1), 1000)))
    assert abs(hits.mean() - p) < 0.05


def test_what_is_no_probability_is_refused():
    with pytest.raises(ValueError, match="p must be a probability"):
        polarity(p=1.5)
