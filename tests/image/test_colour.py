"""Mixing of channels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Sample, image

LUMA = np.array([0.299, 0.587, 0.114])


@pytest.mark.parametrize("dtype, scale, slack", [("uint8", 255, 0.5 + 1e-4), ("float32", 1, 1e-6)])
def test_grey_is_the_luma_in_all_channels(dtype, scale, slack, rng):
    picture = (rng.random((6, 7, 3)) * scale).astype(dtype)
    out = image.grayscale().apply(jnp.asarray(True), Sample(jnp.asarray(picture))).image
    expected = np.repeat((picture.astype(np.float64) @ LUMA)[..., None], 3, -1)
    assert out.dtype == dtype
    np.testing.assert_allclose(np.asarray(out, np.float64), expected, atol=slack)


@pytest.mark.parametrize("hit", [True, False])
def test_one_channel_is_left_alone(hit, rng):
    picture = jnp.asarray(rng.integers(0, 256, (4, 5, 1), dtype=np.uint8))
    np.testing.assert_array_equal(image.grayscale().apply(jnp.asarray(hit), Sample(picture)).image, picture)


@pytest.mark.parametrize("channels", [2, 4])
def test_other_channels_are_refused(channels):
    with pytest.raises(ValueError, match=rf"1 or 3 channels.*\(4, 5, {channels}\)"):
        image.grayscale().apply(jnp.asarray(True), Sample(jnp.zeros((4, 5, channels), jnp.uint8)))


def test_grey_levels_stay():
    greys = jnp.asarray(np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, -1))
    np.testing.assert_array_equal(image.grayscale().apply(jnp.asarray(True), Sample(greys)).image, greys)


def test_it_hits_with_its_probability():
    spec = Sample(jax.ShapeDtypeStruct((4, 5, 3), "uint8"))
    keys = jax.random.split(jax.random.key(0), 3000)
    hits = jax.vmap(lambda key: image.grayscale(p=0.2).draw(key, spec))(keys)
    np.testing.assert_allclose(hits.mean(), 0.2, atol=4 * np.sqrt(0.16 / 3000))
