"""Convolution in blocks against the sum itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.audio.convolve import convolved


@pytest.mark.parametrize("samples, taps, ahead", [(0, 3, 0), (1, 1, 0), (5, 40, 11), (3000, 1, 0), (7001, 300, 299)])
def test_convolution_is_the_sum(rng, samples, taps, ahead):
    wave, kernel = (rng.normal(size=n).astype(np.float32) for n in (samples, taps))
    full = np.convolve(wave.astype(np.float64), kernel) if samples else np.zeros(0)
    got = jax.jit(convolved, static_argnames="ahead")(jnp.asarray(wave), jnp.asarray(kernel), ahead=ahead)
    assert got.shape == (samples,)
    np.testing.assert_allclose(got, full[ahead : ahead + samples], atol=2e-6 * max(1.0, np.abs(full).max(initial=0)))
