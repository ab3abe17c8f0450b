"""Levels of size: the rule in plain words, and boxes that hold their bodies."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxkit.sampling.levels import level_of, levels, part_box, reach
from jaxkit.sampling.shape import rotation
from tests.reference.cover import plain_level


@pytest.mark.parametrize("step", [0.25, 1.0, 2.0**-20])
def test_levels_follow_the_rule(step, rng):
    semi_axes = (step * 10 ** rng.uniform(-2, 4, (500, 3))).astype(np.float32)
    np.testing.assert_array_equal(levels(semi_axes, step), [plain_level(row, step) for row in semi_axes])


def test_powers_of_two_are_not_rounded_up_twice():
    exact = np.float32([1, 2, 4, 1024]) / np.float32(1 + 2.0**-10)
    width = np.where(exact * np.float32(1 + 2.0**-10) > [1, 2, 4, 1024], np.nextafter(exact, np.float32(0)), exact)
    np.testing.assert_array_equal(level_of(width), [0, 1, 2, 10])
    np.testing.assert_array_equal(level_of(np.nextafter(width, np.float32(np.inf)) * np.float32(1.001)), [1, 2, 3, 11])


def test_bodies_without_extent_are_of_level_0():
    np.testing.assert_array_equal(levels(np.zeros((2, 3), np.float32), 1.0), [0, 0])


def test_a_body_too_wide_for_its_step_is_refused():
    with pytest.raises(ValueError, match="2e\\+09 steps wide"):
        levels(np.float32([[1, 1, 1], [1e9, 1, 1]]), 1.0)


def _bodies(rng, count=300):
    semi_axes = (10 ** rng.uniform(-3, 1, (count, 3))).astype(np.float32)
    turns = Rotation.random(count, rng=rng)
    quaternion = turns.as_quat(scalar_first=True).astype(np.float32)
    return semi_axes, turns.as_matrix(), rotation(jnp.asarray(quaternion))


def test_boxes_hold_bodies_and_fit_in_a_cell_of_their_level(rng):
    semi_axes, matrix, rows = _bodies(rng)
    half = np.stack(reach(rows, jnp.asarray(semi_axes), jnp.float32(0.5)), 1)
    true = np.sqrt(((matrix * semi_axes[:, None, :]) ** 2).sum(2)) / 0.5
    assert (half >= true).all()
    assert (half <= true * 1.001 + 1e-5 * semi_axes.max(1, keepdims=True) + 1e-5).all()
    assert (2 * half.max(1) <= 2.0 ** levels(semi_axes, 0.5)).all()


def test_boxes_of_parts_hold_their_points(rng):
    semi_axes, matrix, rows = _bodies(rng)
    low = rng.uniform(-1.2, 0.8, (300, 3)).astype(np.float32)
    high = low + np.float32(0.3)
    low[::7], high[::5] = -np.inf, np.inf
    step = jnp.float32(0.25)
    whole = reach(rows, jnp.asarray(semi_axes), step)
    zero = tuple(jnp.zeros(300) for _ in range(3))
    arguments = (rows, jnp.asarray(semi_axes), zero, whole, jnp.asarray(low), jnp.asarray(high), step)
    middle, half = (np.stack(parts, 1) for parts in part_box(*arguments))
    unit = rng.normal(0, 1, (200, 300, 3))
    unit *= rng.random((200, 300, 1)) ** (1 / 3) / np.linalg.norm(unit, axis=2, keepdims=True)
    inside = ((unit >= low) & (unit < high)).all(2)
    places = np.einsum("nij,pnj->pni", matrix, unit * semi_axes) / 0.25
    assert inside.sum() > 500
    assert (np.abs(places - middle) <= half)[inside].all()
