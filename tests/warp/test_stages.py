"""Coordinate stages and their inverses."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.ocr.line import Lift
from jaxkit.warp import Affine, Displacement, Homography, Lattice
from tests.reference import spline

SIZE = (24, 40)
RNG = np.random.default_rng(0)
NODES = jnp.asarray(RNG.uniform(-2, 2, (5, 7, 2)), jnp.float32)
FIELD = Displacement(NODES, jnp.float32(SIZE[0]), jnp.float32(SIZE[1]), SIZE)
STAGES = {
    "lattice": Lattice((-1.0, 1.0), (39.0, 3.0)),
    "turned lattice": Lattice((1.0, -1.0), (-2.0, 39.0), turned=True),
    "affine": Affine(jnp.asarray([[0.9, -0.3, 4.0], [0.2, 1.1, -3.0]])),
    "homography": Homography(jnp.asarray([[1.1, 0.1, -2.0], [-0.05, 0.95, 1.0], [1e-3, -2e-3, 1.0]])),
    "negative homography": Homography(-2.0 * jnp.asarray([[1.1, 0.1, -2.0], [0.0, 0.95, 1.0], [1e-3, -2e-3, 1.0]])),
    "displacement": FIELD,
    "arc": Lift(jnp.float32(3), jnp.float32(1), jnp.float32(0), jnp.float32(40), "arc"),
    "sine": Lift(jnp.float32(-2), jnp.float32(1.5), jnp.float32(0.2), jnp.float32(40), "sine"),
}


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_pull_undoes_push(stage):
    x, y = (jnp.asarray(RNG.uniform(0, high, 50), jnp.float32) for high in (39, 23))
    for there, back in ((stage.push, stage.pull), (stage.pull, stage.push)):
        moved = there(*(value[None] for value in (x, y)))
        again = back(*jnp.broadcast_arrays(*moved))
        # Away from regular grids the field is interpolated between pixels, and held beyond the outermost.
        slack = 0.05 if stage is FIELD else 1e-3
        np.testing.assert_allclose(again[0][0], x, atol=slack)
        np.testing.assert_allclose(again[1][0], y, atol=slack)


def test_points_follow_the_field_closely():
    for x, y in ((0.2, 0.2), (39.0, 23.0), (17.3, 11.9), (39.4, 3.0)):
        moved = FIELD.push(jnp.full((1, 1), x), jnp.full((1, 1), y))
        again = FIELD.pull(*moved)
        np.testing.assert_allclose([again[0][0, 0], again[1][0, 0]], [x, y], atol=1e-3)


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_regular_grids_broadcast(stage):
    x, y = jnp.arange(40.0)[None, :], jnp.arange(24.0)[:, None]
    sparse = jnp.broadcast_arrays(*stage.pull(x, y))
    dense = stage.pull(*jnp.broadcast_arrays(x, y))
    for ours, expected in zip(sparse, jnp.broadcast_arrays(*dense), strict=True):
        np.testing.assert_allclose(ours, expected, atol=0.01 if stage is FIELD else 1e-4)


def test_matrices_are_those_of_homogeneous_coordinates():
    x, y = jnp.asarray([3.0, 10.0]), jnp.asarray([7.0, 2.0])
    points = np.stack([x, y, np.ones(2)])
    matrix = np.asarray(STAGES["homography"].matrix, np.float64)
    u, v, w = matrix @ points
    np.testing.assert_allclose(STAGES["homography"].push(x, y), [u / w, v / w], rtol=1e-5)
    np.testing.assert_allclose(STAGES["affine"].push(x, y), np.asarray(STAGES["affine"].matrix) @ points, rtol=1e-5)


def test_beyond_the_horizon_places_stay_finite():
    steep = Homography(jnp.asarray([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-0.1, 0.0, 1.0]]))
    x, y = steep.push(jnp.asarray([5.0, 10.0, 20.0]), jnp.asarray([1.0, 1.0, 1.0]))
    assert np.isfinite(x).all() and (np.asarray(x) > 0).all()


def test_the_field_is_the_spline_of_its_definition():
    for x, y in ((0.0, 0.0), (-0.5, -0.5), (39.5, 23.5), (17.3, 11.9), (-9.0, 30.0)):
        moved = FIELD.pull(jnp.full((1, 1), x), jnp.full((1, 1), y))
        expected = spline.displacement(np.asarray(NODES, np.float64), x, y, SIZE)
        np.testing.assert_allclose([moved[0][0, 0] - x, moved[1][0, 0] - y], expected, atol=1e-4)


def test_no_displacement_exceeds_the_largest_node():
    x, y = jnp.linspace(-20, 60, 200)[None, :], jnp.linspace(-20, 44, 150)[:, None]
    moved = FIELD.pull(x, y)
    bound = float(jnp.abs(NODES).max()) + 1e-4
    assert np.abs(moved[0] - x).max() <= bound and np.abs(moved[1] - y).max() <= bound


def test_equal_nodes_shift_the_picture():
    even = Displacement(jnp.full((4, 4, 2), 1.5), jnp.float32(24), jnp.float32(40), SIZE)
    x, y = even.pull(jnp.arange(40.0)[None, :], jnp.arange(24.0)[:, None])
    np.testing.assert_allclose(np.asarray(x) - np.arange(40.0), np.full(x.shape, 1.5), atol=1e-5)
    np.testing.assert_allclose(np.asarray(y) - np.arange(24.0)[:, None], np.full(y.shape, 1.5), atol=1e-5)


@pytest.mark.parametrize("first", ["lattice", "turned lattice"])
@pytest.mark.parametrize("second", ["lattice", "turned lattice"])
def test_lattices_compose(first, second):
    one, other = STAGES[first], STAGES[second]
    x, y = jnp.asarray([0.0, 5.0]), jnp.asarray([2.0, 9.0])
    np.testing.assert_array_equal(one.then(other).push(x, y), other.push(*one.push(x, y)))
    assert one.then(other).known()
