"""Noise on pictures: its strength, and that no two values share it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxkit import Sample, batch, image

SHAPE = (64, 96, 3)
STD = 0.05


def _noisy(level, count=4, std=STD, dtype="float32"):
    grey = Sample(jnp.full((count, *SHAPE), level, dtype))
    return np.asarray(batch(image.gaussian_noise(std=(std, std)))(jax.random.key(5), np.arange(count), grey).image)


@pytest.mark.parametrize("dtype, level, scale", [("float32", 0.5, 1.0), ("uint8", 128, 255.0)])
def test_the_strength_is_a_fraction_of_full_scale(dtype, level, scale):
    values = (_noisy(level, dtype=dtype).astype(np.float64) - level) / scale
    count = values.size
    # Rounding to levels adds a twelfth of a squared level.
    expected = np.sqrt(STD**2 + (1 / 12 / 255**2 if dtype == "uint8" else 0))
    np.testing.assert_allclose(values.mean(), 0, atol=4 * STD / np.sqrt(count))
    np.testing.assert_allclose(values.std(), expected, rtol=4 / np.sqrt(count))


def test_the_distribution_is_normal_but_for_the_tails():
    values = (_noisy(0.5) - 0.5).ravel() / STD
    assert stats.kstest(values, stats.norm.cdf).statistic < 0.012
    assert np.abs(values).max() < 3.5


def test_neighbours_channels_rows_and_members_are_independent():
    values = (_noisy(0.5) - 0.5).astype(np.float64)
    pairs = {
        "across": (values[:, :, 1:], values[:, :, :-1]),
        "down": (values[:, 1:], values[:, :-1]),
        "channels": (values[..., 0], values[..., 1]),
        "members": (values[0], values[1]),
        "far members": (values[0], values[3]),
    }
    for name, (left, right) in pairs.items():
        score = np.corrcoef(left.ravel(), right.ravel())[0, 1] * np.sqrt(left.size)
        assert abs(score) < 4.5, name


def test_the_strength_is_drawn_per_member():
    count, low, high = 200, 0.01, 0.1
    grey = Sample(jnp.full((count, 32, 32, 1), 0.5))
    f = batch(image.gaussian_noise(std=(low, high)))
    params = f.draw(jax.random.key(0), np.arange(count), grey)
    measured = np.asarray(f.apply(params, grey).image).reshape(count, -1).std(1)
    np.testing.assert_allclose(measured, params[0], rtol=0.15)
    assert stats.kstest(np.asarray(params[0]), stats.uniform(low, high - low).cdf).pvalue > 1e-4


@pytest.mark.parametrize("dtype, black, white", [("float32", 0.0, 1.0), ("uint8", 0, 255)], ids=["float32", "uint8"])
def test_results_are_clipped_to_the_range(dtype, black, white):
    dark, bright = _noisy(black, std=0.3, dtype=dtype), _noisy(white, std=0.3, dtype=dtype)
    assert dark.min() == black and bright.max() == white
    np.testing.assert_allclose([(dark == black).mean(), (bright == white).mean()], [0.5, 0.5], atol=0.02)
