"""Edges against NumPy's padding of the clip alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.edges import with_edges

SAMPLES = 30
BEFORE, AFTER = 12, 9


@pytest.mark.parametrize("mode", ["reflect", "symmetric", "constant", "edge"])
def test_edges_lie_at_the_true_end(mode, rng):
    lengths = np.array([30, 29, 13, 5, 2, 1, 0], np.int32)
    wave = rng.normal(size=SAMPLES).astype(np.float32)
    rows = np.where(np.arange(SAMPLES) < lengths[:, None], wave, np.nan).astype(np.float32)
    widen = jax.jit(jax.vmap(lambda clip: with_edges(clip, before=BEFORE, after=AFTER, mode=mode)))
    got = np.asarray(widen(Clip(jnp.asarray(rows), jnp.asarray(lengths))))
    for row, n in zip(got, lengths, strict=True):
        alone = np.pad(wave[:n], (BEFORE, AFTER), mode=mode) if n else np.zeros(BEFORE + AFTER)
        np.testing.assert_array_equal(row, np.pad(alone, (0, SAMPLES - n)))
    whole = with_edges(Clip(jnp.asarray(wave)), before=BEFORE, after=AFTER, mode=mode)
    np.testing.assert_array_equal(whole, got[0])
    assert with_edges(Clip(jnp.zeros(0)), before=BEFORE, after=AFTER, mode=mode).shape == (BEFORE + AFTER,)


def test_unknown_edges_are_refused():
    with pytest.raises(ValueError, match="'wrap'"):
        with_edges(Clip(jnp.zeros(4)), before=1, after=1, mode="wrap")
