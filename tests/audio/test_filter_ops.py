"""Draws and recipes of the random filters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.filter_ops import band_pass, band_stop, high_pass, low_pass, peaking, shelf

FACTORIES = (low_pass, high_pass, band_pass, band_stop, peaking, shelf)


def _drawn(op, count=256):
    return jax.vmap(lambda key: op.draw(key, None))(jax.random.split(jax.random.key(0), count))


def test_frequencies_are_uniform_in_their_logarithms():
    cutoff = np.asarray(_drawn(low_pass(cutoff=(100.0, 1600.0))))
    assert 100 <= cutoff.min() < 105 and 1500 < cutoff.max() <= 1600
    assert abs(np.median(np.log2(cutoff / 100)) - 2) < 0.25


def test_every_param_has_its_range():
    centre, gain_db, q = map(np.asarray, _drawn(peaking(centre=(50, 60), gain_db=(-9, 3), q=(2, 2))))
    assert 50 <= centre.min() and centre.max() <= 60
    assert -9 <= gain_db.min() < -8.5 and 2.5 < gain_db.max() <= 3
    np.testing.assert_allclose(q, 2.0, rtol=1e-6)
    assert abs(np.corrcoef(centre, gain_db)[0, 1]) < 0.3


def test_frequencies_that_the_rate_lacks_are_refused_with_their_value():
    clip = Clip(jnp.zeros(10), rate=8000)
    with pytest.raises(ValueError, match="cutoff must stay below 4000 Hz.*got 4000 Hz"):
        jax.eval_shape(low_pass(cutoff=(100, 4000)).apply, jnp.float32(200.0), clip)
    with pytest.raises(ValueError, match="centre must stay below 4000 Hz.*got 5500 Hz"):
        jax.eval_shape(band_stop(centre=(100, 5500)).apply, (jnp.float32(200.0), jnp.float32(1.0)), clip)


@pytest.mark.parametrize("factory", FACTORIES, ids=lambda factory: factory.__name__)
def test_defaults_suit_telephone_rates(factory):
    op, clip = factory(), Clip(jnp.zeros(10), rate=8000)
    assert op.name == factory.__name__
    assert jax.eval_shape(op.apply, op.draw(jax.random.key(0), clip), clip).wave.shape == (10,)


@pytest.mark.parametrize(
    "factory, wrong, told",
    [
        (low_pass, {"cutoff": (0.0, 100.0)}, "cutoff"),
        (high_pass, {"cutoff": (200.0, 100.0)}, "cutoff"),
        (low_pass, {"order": 9}, "order must be an int from 1 to 8, got 9"),
        (high_pass, {"order": 2.0}, "order"),
        (band_pass, {"q": (0.0, 1.0)}, "q must"),
        (band_stop, {"centre": 100}, "centre"),
        (peaking, {"gain_db": (-90, 0)}, "gain_db"),
        (shelf, {"kind": "middle"}, "kind must be one of low, high, got 'middle'"),
    ],
)
def test_wrong_recipes_are_refused(factory, wrong, told):
    with pytest.raises(ValueError, match=told):
        factory(**wrong)
