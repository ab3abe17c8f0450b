"""Clouds in memory: what the makers make of axes, matrices and covariances, against SciPy and float64 algebra."""

import jax
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.ingest import BLOCK

N = 300


def _axes(rng, n=N):
    center, semi_axes = rng.uniform(-50, 50, (n, 3)), np.exp(rng.normal(0, 1, (n, 3)))
    return center, semi_axes, Rotation.random(n, rng)


def _shape(bodies):
    """`R diag(s^2) R^T`, which says all about a body but its place."""
    matrix = Rotation.from_quat(bodies.quaternion, scalar_first=True).as_matrix()
    return np.einsum("nij,nj,nkj->nik", matrix, np.float64(bodies.semi_axes) ** 2, matrix)


def _expected(semi_axes, turn):
    matrix = turn.as_matrix()
    return np.einsum("nij,nj,nkj->nik", matrix, semi_axes**2, matrix)


def _same_shapes(bodies, expected):
    size = np.abs(expected).max((1, 2), keepdims=True)
    np.testing.assert_allclose(_shape(bodies) / size, expected / size, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_quaternions_of_any_length_in_both_orders(dtype, order, rng):
    center, semi_axes, turn = _axes(rng)
    quaternion = turn.as_quat(scalar_first=order == "wxyz") * rng.uniform(0.1, 9, (N, 1))
    cloud = Ellipsoids.from_axes(
        center.astype(dtype), semi_axes.astype(dtype), quaternion.astype(dtype), quaternion_order=order
    )
    _same_shapes(cloud.bodies, _expected(semi_axes, turn))
    np.testing.assert_allclose(np.linalg.norm(cloud.bodies.quaternion, axis=1), 1, atol=2e-7)
    np.testing.assert_allclose(cloud.anchor.to_float64(cloud.bodies.center), center.astype(dtype), atol=1e-7)
    assert len(cloud) == N and cloud.report.rows == N and not cloud.report.invalid


@pytest.mark.parametrize("mirror", [False, True])
def test_matrices_and_their_mirror_images(mirror, rng):
    center, semi_axes, turn = _axes(rng)
    matrix = turn.as_matrix() * (np.array([1, -1, 1]) if mirror else 1)
    cloud = Ellipsoids.from_axes(center, semi_axes, matrix.astype(np.float32))
    _same_shapes(cloud.bodies, _expected(semi_axes, turn))


def test_half_turns_have_exact_quaternions():
    turns = np.array([np.diag(d) for d in ([1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1], [-1, -1, -1])])
    cloud = Ellipsoids.from_axes(np.zeros((5, 3)), np.ones((5, 3)), turns)
    np.testing.assert_array_equal(np.abs(cloud.bodies.quaternion), np.eye(4)[[0, 1, 2, 3, 0]])


def test_radii_and_scale_and_no_rotation(rng):
    center, radius = rng.normal(0, 9, (N, 3)), rng.uniform(1, 2, N)
    cloud = Ellipsoids.from_axes(center, radius, scale=3.0)
    np.testing.assert_allclose(cloud.bodies.semi_axes, np.repeat(3 * radius[:, None], 3, 1), rtol=1e-7)
    np.testing.assert_array_equal(cloud.bodies.quaternion, np.tile([1, 0, 0, 0], (N, 1)))
    balls = Ellipsoids.from_spheres(center, 3 * radius, origin=cloud.anchor.origin)
    jax.tree.map(np.testing.assert_array_equal, balls.bodies, cloud.bodies)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("k", [1.0, 2.5])
def test_covariances(upper, k, rng):
    center, semi_axes, turn = _axes(rng)
    covariance = _expected(semi_axes, turn)
    given = covariance[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]] if upper else covariance
    cloud = Ellipsoids.from_covariance(center, given, k=k)
    _same_shapes(cloud.bodies, k**2 * covariance)
    np.testing.assert_allclose(np.sort(cloud.bodies.semi_axes), np.sort(k * semi_axes), rtol=1e-6)


def test_utm_coordinates_keep_millimetres(rng):
    center = np.array([448_262.0, 5_411_932.0, 120.0]) + rng.uniform(-5000, 5000, (N, 3))
    cloud = Ellipsoids.from_spheres(center, np.full(N, 0.005))
    assert cloud.anchor.step == 2.0**-7
    np.testing.assert_allclose(cloud.anchor.to_float64(cloud.bodies.center), center, atol=2e-9, rtol=0)


def test_the_frame_follows_the_longest_axis_of_the_smallest_body():
    center = np.array([[0.0, 0, 0], [10, 0, 0]])
    cloud = Ellipsoids.from_axes(center, np.array([[0.01, 0.3, 0.01], [5, 4, 3]]))
    assert cloud.anchor.step == 0.5
    assert cloud.report.largest_aspect == pytest.approx(30) and cloud.report.size_ratio == pytest.approx(5 / 0.3)


@pytest.mark.parametrize("n", [0, 1])
def test_no_body_and_one(n):
    for cloud in (
        Ellipsoids.from_axes(np.zeros((n, 3)), np.ones((n, 3)), np.ones((n, 4))),
        Ellipsoids.from_axes(np.zeros((n, 3)), np.ones((n, 3)), np.tile(np.eye(3), (n, 1, 1))),
        Ellipsoids.from_covariance(np.zeros((n, 3)), np.tile(np.eye(3), (n, 1, 1))),
        Ellipsoids.from_spheres(np.zeros((n, 3)), np.ones(n)),
    ):
        assert len(cloud) == n and cloud.report.rows == n
        assert [first for first, _ in cloud.chunks(4)] == [0] * n
        assert cloud.bodies.quaternion.shape == (n, 4) and cloud.bodies.center.cell.dtype == np.int32


def test_blocks_do_not_show(rng):
    n = 2 * BLOCK + 17
    center, semi_axes, turn = _axes(rng, n)
    quaternion = turn.as_quat(scalar_first=True)
    cloud = Ellipsoids.from_axes(center, semi_axes, quaternion)
    few = np.array([0, BLOCK - 1, BLOCK, 2 * BLOCK, n - 1])
    alone = Ellipsoids.from_axes(center[few], semi_axes[few], quaternion[few], origin=cloud.anchor.origin)
    for part in (1, 2):
        np.testing.assert_array_equal(cloud.bodies[part][few], alone.bodies[part])
    np.testing.assert_allclose(cloud.anchor.to_float64(cloud.bodies.center), center, atol=1e-7)


def test_a_million_rows(rng):
    n = 10**6
    center = rng.uniform(0, 1000, (n, 3))
    cloud = Ellipsoids.from_spheres(center, np.full(n, 2.0))
    assert len(cloud) == n and cloud.anchor.step == 4.0 and cloud.bodies.semi_axes.min() == 2
    np.testing.assert_allclose(cloud.anchor.to_float64(cloud.bodies.center), center, atol=3e-7)


def test_inputs_are_left_alone(rng):
    center, semi_axes, turn = _axes(rng)
    quaternion = 3 * turn.as_quat(scalar_first=True)
    semi_axes[3], center[4] = -1, np.nan
    copies = center.copy(), semi_axes.copy(), quaternion.copy()
    Ellipsoids.from_axes(center, semi_axes, quaternion, on_invalid="drop")
    jax.tree.map(np.testing.assert_array_equal, (center, semi_axes, quaternion), copies)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"center": np.zeros((4, 2))}, "center must be \\[N, 3\\], not \\[4, 2\\]"),
        ({"semi_axes": np.zeros((4, 2))}, "semi_axes must be \\[N, 3\\] or \\[N\\], not \\[4, 2\\]"),
        ({"rotation": np.zeros((4, 3))}, "rotation must be \\[N, 4\\] or \\[N, 3, 3\\], not \\[4, 3\\]"),
        ({"rotation": np.zeros((3, 4))}, "same number of rows"),
        ({"center": np.array([["a"] * 3] * 4)}, "center must hold real numbers"),
        ({"quaternion_order": "zyxw"}, "quaternion_order must be one of wxyz, xyzw, not 'zyxw'"),
        ({"scale": 0.0}, "scale must be a positive finite number, not 0.0"),
        ({"on_invalid": "ignore"}, "on_invalid must be one of raise, drop, clamp, not 'ignore'"),
        ({"max_aspect": 0.5}, "max_aspect must be a finite number of at least 1, not 0.5"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    arguments = {"center": np.zeros((4, 3)), "semi_axes": np.ones((4, 3)), "rotation": np.ones((4, 4))}
    with pytest.raises(ValueError, match=message):
        Ellipsoids.from_axes(**arguments | change)


def test_wrong_covariances_are_refused():
    with pytest.raises(ValueError, match="covariance must be \\[N, 3, 3\\] or \\[N, 6\\], not \\[4, 3\\]"):
        Ellipsoids.from_covariance(np.zeros((4, 3)), np.zeros((4, 3)))
    with pytest.raises(ValueError, match="k must be a positive finite number, not -1"):
        Ellipsoids.from_covariance(np.zeros((4, 3)), np.zeros((4, 6)), k=-1)
