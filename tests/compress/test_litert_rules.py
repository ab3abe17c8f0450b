"""The rounding of LiteRT's kernels, at ties above all; tests/export/test_litert.py holds the kernels to it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.compress import Affine
from jaxkit.compress.litert_rules import add_fixed, mean_shifted, rounded, sub_fixed

PAIRS = [grid.reshape(-1, 1) for grid in np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))]
F = np.float32


@pytest.mark.parametrize("ratios", [(0.5, 0.5), (0.25, 0.5), (0.731, 0.377), (1.3, 0.02)])
@pytest.mark.parametrize("rule, sign", [(add_fixed, 1), (sub_fixed, -1)])
def test_sums_are_products_with_21_bits_shifted_back_half_up(ratios, rule, sign):
    scale = F(0.0437)
    at = (Affine(scale * F(ratios[0]), 7), Affine(scale * F(ratios[1]), -21), Affine(scale, -3))
    own = [F(one.scale / scale) for one in at[:2]]
    shift = 20 - int(np.floor(np.log2(max(own))))
    factors = [round(float(ratio) * 2**shift) for ratio in own]
    assert 2**20 <= max(factors) < 2**21
    total = (PAIRS[0] - 7) * factors[0] + sign * (PAIRS[1] + 21) * factors[1]
    expected = np.clip(np.floor(total / 2**shift + 0.5) - 3, -128, 127)
    x, y = (values.astype(np.int8) for values in PAIRS)
    np.testing.assert_array_equal(jax.jit(lambda x, y: rule(x, y, at, jnp.int8))(x, y), expected)
    scales = [one.scale for one in at]
    learned = jax.jit(
        lambda x, y, s: rule(x, y, [one._replace(scale=v) for one, v in zip(at, s, strict=True)], jnp.int8)
    )
    np.testing.assert_array_equal(learned(x, y, scales), expected)


def test_means_add_both_zero_points_before_they_round(rng):
    x = rng.integers(-128, 128, (500, 3, 3, 8)).astype(np.int8)
    at = Affine(F(0.0437), 11), Affine(F(0.0437) * F(0.5714286), -7)
    ratio = F(at[0].scale / at[1].scale)
    factor = ratio * F(1 / 9)
    shift = F(-7) - F(11 * 9) * factor
    total = x.sum(axis=(1, 2), dtype=np.int32).astype(F)
    expected = np.clip(np.rint(total * factor + shift), -128, 127)
    np.testing.assert_array_equal(jax.jit(lambda x: mean_shifted(x, at, (1, 2), jnp.int8))(x), expected)
    learned = jax.jit(lambda x, a, b: mean_shifted(x, (Affine(a, 11), Affine(b, -7)), (1, 2), jnp.int8))
    np.testing.assert_array_equal(learned(x, at[0].scale, at[1].scale), expected)


def test_real_values_are_multiplied_by_the_reciprocal(rng):
    at = Affine(F(0.0371), 5)
    ties = (rng.integers(-140, 140, 20_000) + F(0.5)).astype(F) * at.scale
    x = np.nextafter(ties, rng.choice([-np.inf, 0, np.inf], ties.size).astype(F)).astype(F)
    expected = np.clip(np.rint(x * (F(1) / at.scale)) + 5, -128, 127)
    assert np.any(expected != np.clip(np.rint(x / at.scale) + 5, -128, 127))
    np.testing.assert_array_equal(jax.jit(lambda x: rounded(x, at, jnp.int8))(x), expected)
    learned = jax.jit(lambda x, scale: rounded(x, Affine(scale, 5), jnp.int8))
    np.testing.assert_array_equal(learned(x, at.scale), expected)
