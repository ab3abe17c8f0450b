"""Directions and laws of the ops that keep straight lines straight."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Sample, warp

SQUARE = jnp.asarray(np.random.default_rng(0).integers(0, 256, (9, 9, 3), dtype=np.uint8))
WIDE = jnp.asarray(np.random.default_rng(1).integers(0, 256, (6, 10, 3), dtype=np.uint8))


def move(op, values, image, **labels):
    """The op applied with given drawn values."""
    return jax.jit(op.apply)((jnp.asarray(values),), Sample(image, **labels))


def test_positive_angles_turn_counter_clockwise_as_displayed():
    marker = jnp.zeros((5, 5, 1), jnp.uint8).at[1, 3].set(255)
    turned = move(warp.rotate(), 90.0, marker, points=jnp.asarray([[3.0, 1.0]]))
    assert turned.image[1, 1, 0] == 255 and int(turned.image.sum()) == 255
    np.testing.assert_allclose(turned.points, [[1, 1]], atol=1e-5)


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_right_angles_are_quarter_turns(turns):
    turned = move(warp.rotate(), 90.0 * turns, SQUARE).image
    np.testing.assert_array_equal(turned, np.rot90(SQUARE, turns))


@pytest.mark.parametrize("turns", range(-2, 6))
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_quarter_turns_are_those_of_numpy(turns, dtype):
    image = WIDE.astype(dtype)
    mask = WIDE[..., 0] > 99
    out = warp.quarter_turn(turns=turns).apply(((),), Sample(image, mask=mask))
    np.testing.assert_array_equal(out.image, np.rot90(image, turns), strict=True)
    np.testing.assert_array_equal(out.mask, np.rot90(mask, turns), strict=True)


@pytest.mark.parametrize("hits", [(False, False), (True, False), (False, True), (True, True)])
def test_flips_are_those_of_numpy(hits):
    labels = {"points": jnp.asarray([[2.0, 1.0]]), "boxes": jnp.asarray([[1.0, 0.0, 4.0, 2.0]])}
    out = move(warp.flip(), np.array(hits), WIDE, **labels)
    columns, rows = (slice(None, None, -1 if hit else 1) for hit in hits)
    np.testing.assert_array_equal(out.image, WIDE[rows, columns], strict=True)
    x, y = (9 - 2.0 if hits[0] else 2.0), (5 - 1.0 if hits[1] else 1.0)
    np.testing.assert_array_equal(out.points, [[x, y]])
    horizontal, vertical = (6, 9) if hits[0] else (1, 4), (4, 6) if hits[1] else (0, 2)
    np.testing.assert_array_equal(out.boxes, [[horizontal[0], vertical[0], horizontal[1], vertical[1]]])


@pytest.mark.parametrize("across, down", [(2, 0), (-3, 1), (0, -2)])
def test_translation_by_whole_pixels_moves_right_and_down(across, down):
    out = move(warp.translate(), np.float32([across / 10, down / 6]), WIDE).image
    shifted = np.zeros_like(WIDE)
    for row in range(6):
        for column in range(10):
            if 0 <= row + down < 6 and 0 <= column + across < 10:
                shifted[row + down, column + across] = WIDE[row, column]
    np.testing.assert_allclose(out.astype(int), shifted, atol=1)


def test_half_a_pixel_blends_with_the_fill():
    out = move(warp.translate(), np.float32([0.05, 0.0]), jnp.full((6, 10, 1), 100, jnp.uint8)).image
    np.testing.assert_array_equal(out[:, :, 0], [[50] + [100] * 9] * 6)


def test_a_factor_above_one_enlarges_about_the_centre():
    points = jnp.asarray([[4.0, 4.0], [6.0, 3.0]])
    out = move(warp.scale(), 1.0, SQUARE, points=points)
    np.testing.assert_allclose(out.points, [[4, 4], [8, 2]], atol=1e-5)
    np.testing.assert_array_equal(out.image[::2, ::2], SQUARE[2:7, 2:7])


def test_a_positive_slant_leans_tops_to_the_right():
    points = jnp.asarray([[4.0, 0.0], [4.0, 4.0], [4.0, 8.0]])
    out = move(warp.shear(), 45.0, SQUARE, points=points)
    np.testing.assert_allclose(out.points, [[8, 0], [4, 4], [0, 8]], atol=1e-4)


def test_perspective_moves_the_corners_as_drawn():
    shifts = np.array([[0.05, -0.02], [0.01, 0.06], [-0.04, -0.03], [0.02, 0.05]], np.float32)
    corners = np.array([[0, 0], [9, 0], [9, 5], [0, 5]], np.float32)
    out = move(warp.perspective(), shifts, WIDE, quads=jnp.asarray(corners)[None])
    np.testing.assert_allclose(out.quads[0], corners + shifts * [10, 6], atol=1e-4)


def test_straight_lines_stay_straight_in_perspective():
    shifts = jnp.asarray(np.random.default_rng(2).uniform(-0.1, 0.1, (4, 2)), jnp.float32)
    line = jnp.asarray([[1.0, 1.0], [4.0, 2.5], [7.0, 4.0]])
    a, b, c = np.asarray(move(warp.perspective(), shifts, WIDE, points=line).points)
    np.testing.assert_allclose((b - a)[0] * (c - a)[1] - (b - a)[1] * (c - a)[0], 0, atol=1e-3)


def test_boxes_enclose_what_they_held():
    box, inside = jnp.asarray([[2.0, 1.0, 6.0, 5.0]]), np.random.default_rng(3).uniform([1.5, 0.5], [5.5, 4.5], (40, 2))
    out = move(warp.rotate(), 30.0, WIDE, boxes=box, points=jnp.asarray(inside, jnp.float32))
    x0, y0, x1, y1 = np.asarray(out.boxes[0])
    points = np.asarray(out.points) + 0.5
    assert (points >= [x0, y0]).all() and (points <= [x1, y1]).all()
    corners = jnp.asarray([[1.5, 0.5], [5.5, 0.5], [5.5, 4.5], [1.5, 4.5]])
    corners = move(warp.rotate(), 30.0, WIDE, points=corners).points
    np.testing.assert_allclose([x0, y0, x1, y1], [*corners.min(0) + 0.5, *corners.max(0) + 0.5], atol=1e-5)


def test_the_centre_is_that_of_the_true_extent():
    padded = jnp.zeros((12, 20, 1), jnp.uint8).at[:5, :7].set(9)
    out = move(warp.rotate(), 180.0, padded, points=jnp.asarray([[0.0, 0.0]]), valid=jnp.asarray([5, 7]))
    np.testing.assert_allclose(out.points, [[6, 4]], atol=1e-4)
    np.testing.assert_array_equal(out.image[:5, :7], np.full((5, 7, 1), 9))
