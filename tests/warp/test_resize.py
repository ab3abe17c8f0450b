"""Changes of size: geometry and true extents; values are in `tests/parity`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Sample, warp

BOTH = pytest.mark.parametrize("antialias", [True, False], ids=["antialias", "plain"])


def _resize(image, size, antialias, **labels):
    op, sample = warp.resize(size=size, antialias=antialias), Sample(image, **labels)
    return jax.jit(op.apply)(op.draw(jax.random.key(0), sample), sample)


@BOTH
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_the_same_size_is_the_same_picture(antialias, dtype, rng):
    picture = jnp.asarray(rng.integers(0, 256, (7, 11, 3)).astype(dtype))
    out = _resize(picture, (7, 11), antialias)
    np.testing.assert_array_equal(out.image, picture)


@pytest.mark.parametrize("flag", ["no", 1, None])
def test_the_filter_is_chosen_by_a_bool(flag):
    with pytest.raises(ValueError, match="antialias must be True or False"):
        warp.resize(size=(2, 2), antialias=flag)


@BOTH
def test_a_constant_picture_stays_constant(antialias):
    for size in ((3, 5), (20, 30), (9, 1)):
        out = _resize(jnp.full((8, 12, 2), 201, jnp.uint8), size, antialias)
        np.testing.assert_array_equal(out.image, np.full((*size, 2), 201))


@BOTH
def test_corners_of_the_picture_stay_corners(antialias):
    corners = jnp.asarray([[-0.5, -0.5], [11.5, 7.5]])
    boxes = jnp.asarray([[0.0, 0.0, 12.0, 8.0]])
    out = _resize(jnp.zeros((8, 12, 1)), (16, 6), antialias, points=corners, boxes=boxes)
    np.testing.assert_allclose(out.points, [[-0.5, -0.5], [5.5, 15.5]], atol=1e-5)
    np.testing.assert_allclose(out.boxes, [[0, 0, 6, 16]], atol=1e-5)


@BOTH
@pytest.mark.parametrize("valid, expected", [((8, 12), (16, 6)), ((4, 6), (8, 3)), ((3, 5), (6, 3)), ((1, 1), (2, 1))])
def test_the_true_extent_scales_along(antialias, valid, expected):
    out = _resize(jnp.zeros((8, 12, 1)), (16, 6), antialias, valid=jnp.asarray(valid))
    np.testing.assert_array_equal(out.valid, np.int32(expected))


@BOTH
def test_masks_keep_their_labels(antialias, rng):
    mask = jnp.asarray(rng.choice([3, 200, 70000], (8, 12)), jnp.int32)
    out = _resize(jnp.zeros((8, 12, 1)), (16, 24), antialias, mask=mask)
    np.testing.assert_array_equal(out.mask, np.repeat(np.repeat(mask, 2, 0), 2, 1))


def test_halving_with_antialias_keeps_the_mean(rng):
    picture = jnp.asarray(rng.uniform(0, 1, (16, 32, 1)), jnp.float32)
    stripes = jnp.asarray(np.tile([0.0, 1.0], 16)[None, :, None] * np.ones((16, 1, 1)), jnp.float32)
    np.testing.assert_allclose(_resize(picture, (8, 16), True).image.mean(), picture.mean(), atol=0.02)
    assert float(_resize(stripes, (16, 16), True).image[:, 2:-2].std()) < 1e-6
