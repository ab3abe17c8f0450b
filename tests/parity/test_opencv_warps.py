"""Warps against OpenCV and SciPy, which receive the numbers that our ops drew."""

import functools

import cv2
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import interpolate, ndimage

from jaxkit import Sample, batch, ocr, warp

HEIGHT, WIDTH, COUNT = 24, 40, 4
CENTRE = ((WIDTH - 1) / 2, (HEIGHT - 1) / 2)
BORDERS = {
    "constant": (cv2.BORDER_CONSTANT, "grid-constant"),
    "edge": (cv2.BORDER_REPLICATE, "nearest"),
    "reflect101": (cv2.BORDER_REFLECT_101, "mirror"),
    "reflect": (cv2.BORDER_REFLECT, "reflect"),
    "wrap": (cv2.BORDER_WRAP, "grid-wrap"),
}
# Largest difference on the scale of 255.
FLOAT_SLACK, UINT8_SLACK = 1e-3, 1.0
FILL = 0.25
TURN = warp.rotate(degrees=(-170, 170))


def _pictures(dtype):
    noise = np.random.default_rng(3).random((COUNT, HEIGHT, WIDTH, 3))
    smooth = ndimage.gaussian_filter(noise, (0, 1.5, 1.5, 0), mode="wrap")
    smooth = (smooth - smooth.min()) / (smooth.max() - smooth.min())
    return (smooth * 255).round().astype(np.uint8) if dtype == "uint8" else smooth.astype(np.float32)


@functools.cache
def _draws(op):
    (values,) = batch(warp.fuse(op)).draw(jax.random.key(6), np.arange(COUNT), Sample(_pictures("uint8")))
    return values


def _ours(op, dtype, border="constant"):
    """Drawn values of every member, the pictures, and what the op makes of them with a border."""
    pictures, values = _pictures(dtype), _draws(op)
    fused = warp.fuse(op, border=border, fill=64 if dtype == "uint8" else FILL)
    out = np.asarray(batch(fused).apply((values,), Sample(pictures)).image)
    return jax.tree.map(np.asarray, values), pictures, out


def _agree(ours, theirs, slack=FLOAT_SLACK):
    if ours.dtype == np.uint8:
        assert np.abs(ours.astype(int) - theirs.astype(int)).max() <= UINT8_SLACK
    else:
        assert np.abs(ours.astype(float) - theirs).max() * 255 <= slack


def _rotation(degrees):
    return cv2.getRotationMatrix2D(CENTRE, float(degrees), 1.0)


def _zoom(excess):
    return cv2.getRotationMatrix2D(CENTRE, 0.0, 1.0 + float(excess))


def _slant(degrees):
    lean = np.tan(np.deg2rad(float(degrees)))
    return np.array([[1, -lean, lean * CENTRE[1]], [0, 1, 0]])


def _shift(fraction):
    return np.array([[1, 0, fraction[0] * WIDTH], [0, 1, fraction[1] * HEIGHT]], np.float64)


AFFINE = {
    "rotate": (TURN, _rotation),
    "scale": (warp.scale(factor=(0.6, 1.6)), _zoom),
    "shear": (warp.shear(degrees=(-30, 30)), _slant),
    "translate": (warp.translate(fraction=(-0.4, 0.4)), _shift),
}
DTYPES = pytest.mark.parametrize("dtype", ["float32", "uint8"])


READS = [("rotate", border) for border in BORDERS] + [(name, "constant") for name in ("scale", "shear", "translate")]


@DTYPES
@pytest.mark.parametrize("name, border", READS, ids=["-".join(read) for read in READS])
def test_affine_warps_are_those_of_warp_affine(name, border, dtype):
    op, matrix_of = AFFINE[name]
    values, pictures, ours = _ours(op, dtype, border)
    fill = [64 if dtype == "uint8" else FILL] * 3
    for index in range(COUNT):
        theirs = cv2.warpAffine(
            pictures[index], matrix_of(values[index]), (WIDTH, HEIGHT), borderMode=BORDERS[border][0], borderValue=fill
        )
        _agree(ours[index], theirs)


@DTYPES
@pytest.mark.parametrize("border", ["constant", "reflect101"])
def test_perspective_is_that_of_warp_perspective(border, dtype):
    shifts, pictures, ours = _ours(warp.perspective(strength=(0.03, 0.1)), dtype, border)
    corners = np.float32([[0, 0], [WIDTH - 1, 0], [WIDTH - 1, HEIGHT - 1], [0, HEIGHT - 1]])
    for index in range(COUNT):
        moved = (corners + shifts[index] * [WIDTH, HEIGHT]).astype(np.float32)
        theirs = cv2.warpPerspective(
            pictures[index],
            cv2.getPerspectiveTransform(corners, moved),
            (WIDTH, HEIGHT),
            borderMode=BORDERS[border][0],
            borderValue=[64 if dtype == "uint8" else FILL] * 3,
        )
        # Dividing float32 coordinates costs one more of their last bits, where the fill makes a step.
        _agree(ours[index], theirs, 2 * FLOAT_SLACK)


@pytest.mark.parametrize("border", BORDERS)
def test_borders_are_those_of_map_coordinates(border):
    turns, pictures, ours = _ours(TURN, "float32", border)
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(np.float64)
    for index in range(COUNT):
        (a, b, c), (d, e, f) = cv2.invertAffineTransform(_rotation(turns[index]))
        places = [d * x + e * y + f, a * x + b * y + c]
        for channel in range(3):
            theirs = ndimage.map_coordinates(
                pictures[index, ..., channel], places, order=1, mode=BORDERS[border][1], cval=FILL
            )
            _agree(ours[index, ..., channel], theirs)


@DTYPES
@pytest.mark.parametrize("grid", [(4, 4), (5, 9)], ids=str)
def test_elastic_is_a_b_spline_and_a_remap(grid, dtype):
    nodes, pictures, ours = _ours(warp.elastic(pixels=(1, 3), grid=grid), dtype)
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(np.float64)
    # Knots of a cardinal spline whose basis function i is centred on node i.
    down = interpolate.BSpline.design_matrix(_nodes(HEIGHT, grid[0]), np.arange(-2.0, grid[0] + 2), 3).toarray()
    across = interpolate.BSpline.design_matrix(_nodes(WIDTH, grid[1]), np.arange(-2.0, grid[1] + 2), 3).toarray()
    for index in range(COUNT):
        field = np.einsum("hi,wj,ijk->hwk", down, across, nodes[index].astype(np.float64))
        theirs = cv2.remap(
            pictures[index],
            (x + field[..., 0]).astype(np.float32),
            (y + field[..., 1]).astype(np.float32),
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_CONSTANT,
            borderValue=[64 if dtype == "uint8" else FILL] * 3,
        )
        _agree(ours[index], theirs)


def _nodes(length, count):
    return 1 + (np.arange(length) + 0.5) / length * (count - 3)


@DTYPES
@pytest.mark.parametrize("kind", ["arc", "sine"])
def test_curves_are_a_remap(kind, dtype):
    (rises, periods, phases), pictures, ours = _ours(ocr.curve(height=(-0.2, 0.2), kind=kind), dtype)
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(np.float64)
    along = (x + 0.5) / WIDTH
    for index in range(COUNT):
        wave = np.sin(2 * np.pi * (along * periods[index] + phases[index]))
        lift = HEIGHT * rises[index] * (4 * along * (1 - along) if kind == "arc" else wave)
        theirs = cv2.remap(
            pictures[index],
            x.astype(np.float32),
            (y + lift).astype(np.float32),
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_CONSTANT,
            borderValue=[64 if dtype == "uint8" else FILL] * 3,
        )
        _agree(ours[index], theirs)


def test_masks_are_those_of_nearest_map_coordinates():
    mask = np.random.default_rng(0).integers(0, 9, (HEIGHT, WIDTH)).astype(np.int32)
    sample = Sample(jnp.zeros((HEIGHT, WIDTH, 1)), mask=jnp.asarray(mask))
    ours = warp.fuse(warp.rotate(), border="edge").apply((jnp.float32(17.3),), sample).mask
    (a, b, c), (d, e, f) = cv2.invertAffineTransform(_rotation(17.3))
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(np.float64)
    theirs = ndimage.map_coordinates(mask, [d * x + e * y + f, a * x + b * y + c], order=0, mode="nearest")
    np.testing.assert_array_equal(ours, theirs)


def test_whole_pixel_moves_are_those_of_opencv():
    picture = _pictures("uint8")[0]
    sample = Sample(jnp.asarray(picture))
    for turns, code in ((1, cv2.ROTATE_90_COUNTERCLOCKWISE), (2, cv2.ROTATE_180), (3, cv2.ROTATE_90_CLOCKWISE)):
        turned = warp.quarter_turn(turns=turns).apply(((),), sample).image
        np.testing.assert_array_equal(turned, cv2.rotate(picture, code))
    for hits, code in (((True, False), 1), ((False, True), 0), ((True, True), -1)):
        mirrored = warp.flip().apply((jnp.asarray(hits),), sample).image
        np.testing.assert_array_equal(mirrored, cv2.flip(picture, code))
    padded = warp.pad_to(size=(30, 44), fill=9).apply(((),), sample).image
    np.testing.assert_array_equal(padded, cv2.copyMakeBorder(picture, 0, 6, 0, 4, cv2.BORDER_CONSTANT, value=[9] * 3))
