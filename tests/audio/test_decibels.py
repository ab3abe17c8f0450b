"""Decibels against librosa."""

import jax
import jax.numpy as jnp
import librosa
import numpy as np
import pytest

from jaxkit import Features
from jaxkit.audio.decibels import power_to_db


@pytest.mark.parametrize("top_db", [80.0, None])
@pytest.mark.parametrize("ref", [1.0, 0.02, "max"])
def test_librosa_agrees_on_valid_frames(ref, top_db, rng):
    values = (10 ** rng.uniform(-14, 3, (3, 9, 5))).astype(np.float32)
    lengths = np.array([9, 4, 0], np.int32)
    rows = np.where(np.arange(9)[None, :, None] < lengths[:, None, None], values, np.float32(np.nan))
    convert = jax.vmap(lambda features: power_to_db(features, ref=ref, top_db=top_db))
    got = convert(Features(jnp.asarray(rows), jnp.asarray(lengths)))
    for ours, powers, n in zip(np.asarray(got.values), values, lengths, strict=True):
        if n:
            theirs = librosa.power_to_db(powers[:n], ref=np.max if ref == "max" else ref, top_db=top_db)
            np.testing.assert_allclose(ours[:n], theirs, atol=1e-4)
        np.testing.assert_array_equal(ours[n:], 0)
    whole = power_to_db(Features(jnp.asarray(values[0])), ref=ref, top_db=top_db)
    assert whole.length is None
    np.testing.assert_allclose(whole.values, got.values[0], atol=1e-4)


@pytest.mark.parametrize("settings", [{"amin": 0.0}, {"ref": -1.0}, {"ref": "mean"}, {"top_db": -80.0}])
def test_what_is_not_positive_is_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        power_to_db(Features(jnp.ones((2, 2))), **settings)
