"""Laws of dither."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxkit import Clip
from jaxkit.audio.dither import dither


def test_dither_is_normal_noise_on_valid_samples_even_in_silence():
    op, clip = dither(amplitude=0.01), Clip(jnp.zeros(50_000), jnp.int32(40_000))
    made = jax.jit(lambda key: op.apply(op.draw(key, clip), clip).wave)
    noise = np.asarray(made(jax.random.key(0)))
    assert stats.kstest(noise[:40_000] / 0.01, "norm").pvalue > 1e-4
    np.testing.assert_array_equal(noise[40_000:], 0)
    assert dither().draw(jax.random.key(0), clip)[1] == np.float32(2.0**-15)


@pytest.mark.parametrize("amplitude", [-1.0, "loud"])
def test_wrong_recipes_are_refused(amplitude):
    with pytest.raises(ValueError, match="amplitude"):
        dither(amplitude=amplitude)
