"""The baseline of a line against its formula."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Sample, ocr, warp

HEIGHT, WIDTH = 20, 60
X = np.arange(WIDTH)
ALONG = (X + 0.5) / WIDTH


def _bend(kind, rise, period=1.0, phase=0.0, image=None, **labels):
    values = tuple(jnp.float32(v) for v in (rise, period, phase))
    image = jnp.zeros((HEIGHT, WIDTH, 1)) if image is None else image
    return jax.jit(ocr.curve(kind=kind).apply)((values,), Sample(image, **labels))


CURVES = {
    "arc": ("arc", 0.2, 1.0, 0.0, 4.0 * (4 * ALONG * (1 - ALONG))),
    "sagging arc": ("arc", -0.1, 1.0, 0.0, -2.0 * (4 * ALONG * (1 - ALONG))),
    "sine": ("sine", 0.1, 1.5, 0.25, 2.0 * np.sin(2 * np.pi * (1.5 * ALONG + 0.25))),
}


@pytest.mark.parametrize("kind, rise, period, phase, lift", CURVES.values(), ids=CURVES)
def test_points_rise_by_the_formula(kind, rise, period, phase, lift):
    base = np.stack([X, np.full(WIDTH, 12.0)], -1).astype(np.float32)
    moved = _bend(kind, rise, period, phase, points=jnp.asarray(base)).points
    np.testing.assert_allclose(moved, base - np.stack([np.zeros(WIDTH), lift], -1), atol=1e-4)


@pytest.mark.parametrize("kind, rise, period, phase, lift", CURVES.values(), ids=CURVES)
def test_columns_are_shifted_rows(kind, rise, period, phase, lift, rng):
    picture = rng.random((HEIGHT, WIDTH, 1)).astype(np.float32)
    ours = np.asarray(_bend(kind, rise, period, phase, image=jnp.asarray(picture)).image)[..., 0]
    for column in range(WIDTH):
        rows = np.concatenate([[0.0], picture[:, column, 0], [0.0]])
        places = np.arange(HEIGHT) + lift[column]
        expected = np.interp(places, np.arange(-1, HEIGHT + 1), rows)
        np.testing.assert_allclose(ours[:, column], expected, atol=2e-5)


def test_a_positive_rise_lifts_the_middle_and_holds_the_ends():
    ends = jnp.asarray([[-0.5, 10.0], [29.5, 10.0], [59.5, 10.0]])
    moved = _bend("arc", 0.1, points=ends).points
    np.testing.assert_allclose(moved, [[-0.5, 10], [29.5, 8], [59.5, 10]], atol=1e-5)


def test_the_phase_is_drawn_from_the_whole_wave():
    spec = Sample(jax.ShapeDtypeStruct((HEIGHT, WIDTH, 1), "uint8"))
    keys = jax.random.split(jax.random.key(0), 1000)
    ((_, periods, phases),) = jax.vmap(lambda key: ocr.curve(kind="sine", periods=(1, 2)).draw(key, spec))(keys)
    for values, low in ((phases, 0), (periods, 1)):
        counts, _ = np.histogram(values, bins=10, range=(low, low + 1))
        assert counts.sum() == 1000 and np.abs(counts - 100).max() < 50


def test_a_curve_can_be_fused():
    op = warp.fuse(ocr.curve(), warp.rotate(), border="edge")
    assert len(op.apply.moves) == 2 and op.neutral
