"""The five rules for what lies beyond the picture."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.warp import BORDERS, fold
from tests.reference import reading

RULES = [border for border in BORDERS if border != "constant"]


@pytest.mark.parametrize("border", RULES)
@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_whole_positions_are_those_of_the_rule(border, length):
    places = np.arange(-3 * length - 2, 4 * length + 2)
    folded = fold(jnp.asarray(places, jnp.float32), jnp.float32(length), border)
    np.testing.assert_array_equal(folded, [reading.source(int(place), length, border) for place in places])


@pytest.mark.parametrize("border", RULES)
def test_positions_between_are_between(border):
    """The value read at a fraction is the blend of the values that the rule shows on both sides."""
    row = np.array([3.0, 11.0, 5.0, 8.0])
    places = np.linspace(-9.9, 13.9, 171).astype(np.float32)
    folded = np.asarray(fold(jnp.asarray(places), jnp.float32(4), border))
    rolled = np.append(row, row[0] if border == "wrap" else row[-1])
    whole = np.arange(-12, 17)
    shown = [row[reading.source(int(place), 4, border)] for place in whole]
    np.testing.assert_allclose(np.interp(folded, np.arange(5), rolled), np.interp(places, whole, shown), atol=1e-4)


def test_constant_keeps_one_pixel_around():
    folded = fold(jnp.asarray([-5.0, -1.0, -0.25, 2.0, 3.5, 4.0, 9.0]), jnp.float32(4), "constant")
    np.testing.assert_array_equal(folded, [-1.0, -1.0, -0.25, 2.0, 3.5, 4.0, 4.0])


@pytest.mark.parametrize("border", BORDERS)
def test_far_positions_stay_in_reach(border):
    folded = np.asarray(fold(jnp.asarray([-1e6, 1e6, -1e4 - 0.5, 3e38, -3e38], jnp.float32), jnp.float32(37), border))
    assert np.isfinite(folded).all()
    assert folded.min() >= -1 and folded.max() <= 37
