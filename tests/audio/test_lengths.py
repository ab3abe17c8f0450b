"""The length law against fractions."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.audio.lengths import output_length

RATES = [(48000, 16000), (44100, 16000), (16000, 44100), (16001, 16000), (16000, 16001), ((1 << 22) - 1, (1 << 22) - 3)]
ROUND = {"ceil": math.ceil, "round": lambda value: math.floor(value + Fraction(1, 2)), "floor": math.floor}


@pytest.mark.parametrize("mode", ROUND)
@pytest.mark.parametrize("old, new", RATES)
def test_lengths_are_rounded_fractions(old, new, mode, rng):
    most = (2**31 - 2) * min(old, new) // max(old, new)
    samples = [0, 1, 2, 3, 440, 441, 882, most, *map(int, rng.integers(0, most, 200))]
    expected = [ROUND[mode](Fraction(n * new, old)) for n in samples]
    assert [output_length(n, old, new, mode=mode) for n in samples] == expected
    array = jnp.asarray(samples, jnp.int32)
    got = jax.jit(lambda array: output_length(array, old, new, mode=mode))(array)
    np.testing.assert_array_equal(got, np.array(expected, np.int32), strict=True)


def test_what_is_no_mode_is_refused():
    with pytest.raises(ValueError, match="nearest"):
        output_length(3, 8000, 16000, mode="nearest")
