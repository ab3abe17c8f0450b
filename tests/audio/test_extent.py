"""The true extent of a clip, and what is refused."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.extent import check, inside, length, silenced


def test_what_lies_beyond_the_length_is_silent():
    clip = Clip(jnp.array([0.5, np.nan, 0.25, np.nan, np.inf]), jnp.int32(1))
    np.testing.assert_array_equal(silenced(clip).wave, [0.5, 0, 0, 0, 0])
    np.testing.assert_array_equal(inside(clip), [True, False, False, False, False])
    whole = Clip(clip.wave)
    assert silenced(whole) is whole and length(whole) == 5


@pytest.mark.parametrize(
    "clip, rate, error, words",
    [
        (Clip(np.zeros(4, np.int16)), None, TypeError, "divide int16 by 32768"),
        (Clip(np.zeros((2, 4), np.float32)), None, ValueError, "one channel"),
        (Clip(np.zeros(4, np.float32), rate=8000), 16000, ValueError, "the clip has 8000 Hz"),
    ],
)
def test_what_is_no_clip_is_refused(clip, rate, error, words):
    with pytest.raises(error, match=words):
        check(clip, rate=rate)
