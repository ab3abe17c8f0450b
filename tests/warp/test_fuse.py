"""Composition of moves into one read."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Sample, batch, chain, warp
from tests.reference import reading

HEIGHT, WIDTH = 24, 40
Y, X = np.mgrid[:HEIGHT, :WIDTH]
SMOOTH = np.stack([0.5 + 0.4 * np.sin(X / 9 + shift) * np.cos(Y / 7 - shift) for shift in range(3)], -1)
IDS = np.arange(4)


def _smooth(count=4, dtype="float32"):
    picture = SMOOTH if dtype == "float32" else np.round(SMOOTH * 255)
    image = np.broadcast_to(picture.astype(dtype), (count, HEIGHT, WIDTH, 3))
    quads = np.broadcast_to(np.float32([[[3, 4], [30, 5], [29, 20], [2, 18]]]), (count, 1, 4, 2))
    return Sample(image, points=quads[:, 0, :2], quads=quads)


MOVES = {
    "rotate, shear": (warp.rotate(), warp.shear()),
    "elastic, rotate": (warp.elastic(pixels=(0, 1), grid=(4, 5)), warp.rotate()),
    "crop, rotate": (warp.random_crop(size=(20, 30)), warp.rotate(degrees=(-2, 2))),
    "turn, rotate, pad": (warp.quarter_turn(), warp.rotate(), warp.pad_to(size=(44, 32))),
    "resize, rotate": (warp.resize(size=(30, 50), antialias=False), warp.rotate()),
}


@pytest.mark.parametrize("moves", MOVES.values(), ids=MOVES)
def test_fuse_equals_chain_up_to_interpolation(moves):
    key, samples = jax.random.key(2), _smooth()
    fused = batch(warp.fuse(*moves, border="constant"))(key, IDS, samples)
    chained = batch(chain(*moves))(key, IDS, samples)
    assert fused.image.shape == chained.image.shape
    for name in ("points", "quads"):
        np.testing.assert_allclose(getattr(fused, name), getattr(chained, name), atol=1e-3, err_msg=name)
    height, width = fused.image.shape[1:3] if fused.valid is None else fused.valid[0].tolist()
    inner = np.s_[:, 6 : height - 6, 6 : width - 6]
    np.testing.assert_allclose(fused.image[inner], chained.image[inner], atol=0.02)


def test_there_and_back_is_the_picture():
    op = warp.fuse(warp.rotate(), warp.rotate(), border="edge")
    sample = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), _smooth())
    out = op.apply((jnp.float32(13), jnp.float32(-13)), sample)
    np.testing.assert_allclose(out.image, sample.image, atol=1e-5)
    np.testing.assert_allclose(out.points, sample.points, atol=1e-4)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_whole_pixel_moves_are_exact_together(dtype, rng):
    picture = jnp.asarray(rng.integers(0, 256, (10, 14, 3)).astype(dtype))
    mask = jnp.asarray(rng.integers(0, 99, (10, 14)), jnp.int32)
    moves = warp.flip(), warp.quarter_turn(), warp.center_crop(size=(8, 6)), warp.pad_to(size=(9, 9), fill=5)
    op = warp.fuse(*moves, fill=5)
    params = (jnp.asarray([True, True]), (), jnp.full(2, 0.5), ())
    out = op.apply(params, Sample(picture, mask=mask))
    for ours, ground, fill in ((out.image, picture, 5), (out.mask, mask, 0)):
        turned = np.rot90(np.asarray(ground)[::-1, ::-1])[3:11, 2:8]
        padding = ((0, 1), (0, 3), (0, 0))[: turned.ndim]
        np.testing.assert_array_equal(ours, np.pad(turned, padding, constant_values=fill), strict=True)


@pytest.mark.parametrize("border", warp.BORDERS)
@pytest.mark.parametrize("dtype, slack", [("uint8", 1.0), ("float32", 1e-4)], ids=["uint8", "float32"])
def test_borders_and_fills_are_those_of_the_loop(border, dtype, slack, rng):
    picture = rng.integers(0, 256, (7, 9, 2)).astype(dtype)
    mask = rng.integers(1, 9, (7, 9), dtype=np.int32)
    op = warp.fuse(warp.translate(), border=border, fill=90, fill_mask=77)
    out = op.apply((jnp.asarray([-4.3 / 9, 4.9 / 7]),), Sample(jnp.asarray(picture), mask=jnp.asarray(mask)))
    x, y = np.meshgrid(np.arange(9) + 4.3, np.arange(7) - 4.9)
    expected = reading.bilinear(picture, x, y, border, 90)
    np.testing.assert_allclose(np.asarray(out.image, np.float64), expected, atol=slack)
    np.testing.assert_array_equal(out.mask, reading.nearest(mask, x, y, border, 77))


def test_padding_is_filled_under_constant():
    op = warp.fuse(warp.rotate(), fill=200)
    sample = Sample(jnp.zeros((12, 20, 1), jnp.uint8), valid=jnp.asarray([6, 8]))
    out = op.apply((jnp.float32(0),), sample).image[..., 0]
    expected = np.full((12, 20), 200)
    expected[:6, :8] = 0
    np.testing.assert_array_equal(out, expected)


def test_a_fuse_in_a_fuse_is_one():
    inner = warp.fuse(warp.rotate(), warp.shear(), border="edge")
    whole = warp.fuse(inner, warp.scale(), border="edge")
    assert len(whole.apply.moves) == 3
    params = jnp.float32(5), jnp.float32(-3), jnp.float32(0.1)
    sample = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), _smooth(dtype="uint8"))
    flat = warp.fuse(warp.rotate(), warp.shear(), warp.scale(), border="edge")
    np.testing.assert_array_equal(whole.apply(params, sample).image, flat.apply(params, sample).image)


def test_one_fuse_reads_the_picture_once():
    """The gathers of a fused chain are those of one op: four taps, however many moves."""
    sample = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), _smooth())

    def gathers(op):
        params = op.draw(jax.random.key(0), sample)
        return jax.jit(op.apply).lower(params, Sample(sample.image)).as_text().count('"stablehlo.gather"')

    alone = gathers(warp.rotate())
    assert alone > 0
    assert gathers(warp.fuse(warp.rotate(), warp.shear(), warp.perspective(), warp.scale())) == alone
    assert gathers(chain(warp.rotate(), warp.shear())) == 2 * alone
