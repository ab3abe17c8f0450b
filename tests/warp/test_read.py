"""Reads at computed places, against loops over the pixels."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.warp import BORDERS
from jaxkit.warp.read import read_bilinear, read_lattice, read_nearest
from tests.reference import reading

EXTENTS = {"whole": (6, 9), "padded": (4, 5), "one pixel": (1, 1)}


def _picture(rng, dtype, extent):
    """Noise of the given extent in a picture of 6 x 9 with garbage around, and the noise alone."""
    values = rng.integers(0, 256, (6, 9, 3)) if dtype == "uint8" else rng.uniform(0, 1, (6, 9, 3))
    inner = values[: extent[0], : extent[1]].astype(dtype)
    whole = np.full((6, 9, 3), np.nan if dtype != "uint8" else 173).astype(dtype)
    whole[: extent[0], : extent[1]] = inner
    return jnp.asarray(whole), inner


def _places(rng, spread=12.0):
    x, y = (rng.uniform(-spread, spread, (8, 11)).astype(np.float32) for _ in range(2))
    x[0, :4], y[0, :4] = [0, 4, 8, -1], [0, 3, 5, 6]
    return x, y


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("extent", EXTENTS.values(), ids=EXTENTS)
@pytest.mark.parametrize("dtype, fill, slack", [("uint8", 200, 1.0), ("float32", 0.7, 2e-5)], ids=["uint8", "float32"])
def test_bilinear_is_the_loop(border, extent, dtype, fill, slack, rng):
    whole, inner = _picture(rng, dtype, extent)
    x, y = _places(rng)
    read = jax.jit(functools.partial(read_bilinear, border=border, fill=fill))
    ours = read(whole, jnp.asarray(x), jnp.asarray(y), tuple(map(jnp.int32, extent)))
    expected = reading.bilinear(inner, x, y, border, fill)
    assert ours.dtype == dtype
    np.testing.assert_allclose(np.asarray(ours, np.float64), expected, atol=slack)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("extent", EXTENTS.values(), ids=EXTENTS)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "bool", "float32"])
def test_nearest_is_the_loop(border, extent, dtype, rng):
    labels = rng.integers(0, 2 if dtype == "bool" else 9, (6, 9)).astype(dtype)
    x, y = _places(rng)
    ours = read_nearest(jnp.asarray(labels), jnp.asarray(x), jnp.asarray(y), extent, border, 1)
    expected = reading.nearest(labels[: extent[0], : extent[1]], x, y, border, 1)
    np.testing.assert_array_equal(ours, expected, strict=True)


def test_nearest_ties_go_right_and_down():
    x, y = jnp.asarray([[-0.5, 0.5, 1.5, 2.5]]), jnp.zeros((1, 1))
    out = read_nearest(jnp.arange(4).reshape(1, 4), x, jnp.broadcast_to(y, (1, 4)), (1, 4), "edge", 0)
    np.testing.assert_array_equal(out, [[0, 1, 2, 3]])


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("extent", EXTENTS.values(), ids=EXTENTS)
@pytest.mark.parametrize("turned", [False, True], ids=["upright", "turned"])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_lattice_is_the_loop_bit_for_bit(border, extent, turned, dtype, rng):
    whole, inner = _picture(rng, dtype, extent)
    across, down = rng.integers(-12, 20, 7).astype(np.float32), rng.integers(-12, 20, 5).astype(np.float32)
    x, y = (across[:, None], down[None]) if turned else (across[None], down[:, None])
    ours = read_lattice(whole, jnp.asarray(x), jnp.asarray(y), extent, border, 7, turned)
    expected = reading.nearest(inner, *np.broadcast_arrays(x, y), border, 7)
    np.testing.assert_array_equal(ours, expected, strict=True)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_places_that_are_no_numbers_read_the_fill(dtype):
    x = jnp.asarray([[np.nan, np.inf, -np.inf, 3e38]])
    out = read_bilinear(jnp.ones((4, 4, 1), dtype), x, jnp.ones((1, 4)), (4, 4), "constant", 0)
    np.testing.assert_array_equal(out, np.zeros((1, 4, 1)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_floating_pictures_keep_their_precision(dtype, rng):
    x, y = _places(rng, spread=4.0)
    picture = jnp.asarray(rng.uniform(0, 1, (6, 9, 2)), dtype)
    out = read_bilinear(picture, jnp.asarray(x), jnp.asarray(y), (6, 9), "edge", 0)
    assert out.dtype == dtype
    expected = reading.bilinear(np.asarray(picture, np.float64), x, y, "edge")
    np.testing.assert_allclose(np.asarray(out, np.float64), expected, atol=4 * float(jnp.finfo(dtype).eps))


def test_slopes_are_those_of_the_blend(rng):
    picture = jnp.asarray(rng.uniform(0, 1, (6, 9, 1)), jnp.float32)
    x, y = jnp.asarray([[3.25]]), jnp.asarray([[2.5]])
    along = jax.grad(lambda x: read_bilinear(picture, x, y, (6, 9), "edge", 0).sum())(x)
    rows = np.asarray(picture)[2:4, 3:5, 0].mean(0)
    np.testing.assert_allclose(along[0, 0], rows[1] - rows[0], rtol=1e-4)
    by_pixel = jax.grad(lambda p: read_bilinear(p, x, y, (6, 9), "edge", 0).sum())(picture)
    np.testing.assert_allclose(by_pixel[2:4, 3:5, 0], [[0.375, 0.125], [0.375, 0.125]], atol=1e-6)


def test_large_pictures_need_wider_places(rng):
    """Beyond 2**16 pixels places no longer fit 16 bits; both packings give the loop's result."""
    picture = rng.integers(0, 256, (260, 300, 1), dtype=np.uint8)
    x, y = (rng.uniform(-3, high + 3, (20, 20)).astype(np.float32) for high in (299, 259))
    ours = read_bilinear(jnp.asarray(picture), jnp.asarray(x), jnp.asarray(y), (260, 300), "reflect101", 0)
    np.testing.assert_allclose(np.asarray(ours, np.float64), reading.bilinear(picture, x, y, "reflect101"), atol=1.0)
