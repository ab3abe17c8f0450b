"""Grids of points: look-ups find what a plain comparison of cells finds, each point once."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.sampling.anchor import Anchor, Position
from jaxkit.sampling.grid import ACROSS, COLUMNS, FINER, ROW, bounds, build_grid, capacity, cells, keys, taken_rows

STEP = 0.5
POINTS = 3000


def _build(world, level):
    position = Anchor(step=STEP).place(world)
    source = np.arange(len(world), dtype=np.int32)
    grid, order = build_grid(position, source, source % 7, level, STEP, capacity(len(world)))
    return position, grid, order


@pytest.mark.parametrize("level", [-6, 0, 1, 5, 20])
def test_cells_are_floors_of_coordinates(level, rng):
    world = rng.uniform(-1, 1, (POINTS, 3)) * STEP * 2.0 ** (level + 2)
    position = Anchor(step=STEP).place(world)
    for axis, (index, finer) in enumerate(zip(cells(position, level, STEP), FINER, strict=True)):
        exact = position.cell[:, axis] + position.offset[:, axis].astype(np.float64) / STEP
        np.testing.assert_array_equal(index, np.floor(exact * 2.0 ** (finer - level)))


CLOUDS = {
    "a box": lambda rng: rng.uniform(-10, 10, (POINTS, 3)),
    "one cell": lambda rng: rng.uniform(0.1, 0.2, (POINTS, 3)),
    "two far clusters": lambda rng: rng.normal(0, 1, (POINTS, 3)) + rng.integers(0, 2, (POINTS, 1)) * 1e6,
    "a line": lambda rng: np.linspace([-1e4] * 3, [1e4] * 3, POINTS),
    "a flat box": lambda rng: rng.uniform(-1, 1, (POINTS, 3)) * [1e3, 1, 1e3],
}


@pytest.mark.parametrize("name", CLOUDS)
def test_boxes_find_their_points_once(name, rng):
    world = CLOUDS[name](rng)
    position, grid, order = _build(world, level=2)
    np.testing.assert_array_equal(np.sort(order), np.arange(POINTS))
    center = Anchor(step=STEP).place(world[:50])
    middle = tuple(jnp.asarray(center.offset[:, axis] / STEP) for axis in range(3))
    half = tuple(jnp.asarray(rng.uniform(0, 2.0, 50), jnp.float32) for _ in range(3))
    low, high = (np.stack(found, 1) for found in bounds(jnp.asarray(center.cell), middle, half, jnp.int32(2)))
    assert (high - low < [ROW, ACROSS, ACROSS]).all()
    cell = np.stack(cells(position, 2, STEP), 1)
    for first, last in zip(low, high, strict=True):
        expected = np.flatnonzero(((cell >= first) & (cell <= last)).all(1))
        found = np.concatenate([_row(grid, order, first, last, y, z) for y in range(ACROSS) for z in range(ACROSS)])
        assert len(np.unique(found)) == len(found)
        assert set(expected) <= set(found)
        assert len(found) <= len(expected) + 0.05 * POINTS + 10


def _row(grid, order, low, high, y, z):
    """The points of one row of cells of a box, by a look-up."""
    if low[1] + y > high[1] or low[2] + z > high[2]:
        return np.zeros(0, int)
    key = keys([low[0], low[1] + y, low[2] + z], grid.shift)
    span = np.arange(grid.start[key], grid.start[key + high[0] - low[0] + 1])
    return order[span % grid.points]


def test_bounds_hold_boxes_at_every_level(rng):
    center = Position(rng.integers(-1000, 1000, (500, 3), dtype=np.int32), rng.random((500, 3), np.float32))
    half = tuple(jnp.asarray(rng.uniform(0, 8.0, 500), jnp.float32) for _ in range(3))
    middle = tuple(jnp.asarray(center.offset[:, axis]) for axis in range(3))
    for level in (-3, 0, 1, 2, 4):
        low, high = bounds(jnp.asarray(center.cell), middle, half, jnp.int32(level))
        for axis, finer in enumerate(FINER):
            exact = center.cell[:, axis] + center.offset[:, axis].astype(np.float64)
            for found, sign in ((low, -1), (high, 1)):
                expected = np.floor((exact + sign * np.float64(half[axis])) * 2.0 ** (finer - level))
                difference = np.abs(np.asarray(found[axis]) - expected)
                assert difference.max() <= 1 and difference.mean() < 0.01


def test_rows_hold_what_they_are_made_of(rng):
    position, grid, order = _build(rng.uniform(-5, 5, (100, 3)), level=1)
    rows = grid.rows.reshape(-1, COLUMNS)[:100]
    np.testing.assert_array_equal(rows[:, :3], position.cell[order])
    np.testing.assert_array_equal(rows[:, 3:6].copy().view(np.float32), position.offset[order])
    np.testing.assert_array_equal(rows[:, 6], order)
    np.testing.assert_array_equal(rows[:, 7], order % 7)


@pytest.mark.parametrize("dtype, width", [(np.float32, 3), (np.int32, 8), (np.float64, 1)])
def test_rows_are_taken_whole(dtype, width, rng):
    table, rows = rng.integers(0, 99, (50, width)).astype(dtype), rng.integers(0, 50, 80)
    np.testing.assert_array_equal(taken_rows(table[::-1], rows), table[::-1][rows])


def test_capacities_are_few_and_close():
    sizes = [capacity(points) for points in range(1, 300_000)]
    assert all(points <= size < max(4 * points, 2**16 + 1) for points, size in enumerate(sizes, 1))
    assert set(sizes) == {2**16, 2**18, 2**20}
