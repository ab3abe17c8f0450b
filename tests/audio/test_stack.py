"""Stacked frames against a loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Features
from jaxkit.audio.stack import stack_frames


@pytest.mark.parametrize("size, skip", [(2, None), (7, 6), (3, 5), (4, 1)])
def test_stacking_equals_a_loop(rng, size, skip):
    values = rng.normal(size=(23, 3)).astype(np.float32)
    made = jax.jit(lambda features: stack_frames(features, size=size, skip=skip))
    for length in (23, 22, size, size - 1, 0):
        padded = np.where(np.arange(23)[:, None] < length, values, np.float32(np.nan))
        ours = made(Features(jnp.asarray(padded), jnp.int32(length)))
        starts = range(0, length - size + 1, skip or size)
        assert ours.length == len(starts)
        for row, start in zip(np.asarray(ours.values), starts, strict=False):
            np.testing.assert_array_equal(row, values[start : start + size].reshape(-1))
        np.testing.assert_array_equal(ours.values[len(starts) :], 0)
    assert stack_frames(Features(jnp.asarray(values)), size=size, skip=skip).length is None


@pytest.mark.parametrize("settings", [{"size": 0}, {"skip": 0}, {"size": 2.0}])
def test_wrong_settings_are_refused(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))} is a number"):
        stack_frames(Features(jnp.zeros((3, 2))), **settings)
