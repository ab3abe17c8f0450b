"""Invalid rows: found, named, listed, and handled as asked."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxkit.sampling.ellipsoids import Ellipsoids
from jaxkit.sampling.ingest import BLOCK
from jaxkit.sampling.report import Invalid, InvalidEllipsoidError

N = 40


def _good(rng, n=N):
    return rng.uniform(-9, 9, (n, 3)), rng.uniform(1, 2, (n, 3)), Rotation.random(n, rng).as_quat(scalar_first=True)


BAD = {
    "NaN center": (0, [1.0, np.nan, 0.0], "NaN"),
    "NaN axis": (1, [1.0, np.nan, 1.0], "NaN"),
    "NaN quaternion": (2, [1.0, 0.0, np.nan, 0.0], "NaN"),
    "infinite center": (0, [1.0, -np.inf, 0.0], "infinite"),
    "infinite axis": (1, [1.0, np.inf, 1.0], "infinite"),
    "infinite quaternion": (2, [1.0, 0.0, np.inf, 0.0], "infinite"),
    "zero axis": (1, [1.0, 0.0, 2.0], "non-positive axis"),
    "negative axis": (1, [1.0, -3.0, 2.0], "non-positive axis"),
    "zero quaternion": (2, [0.0, 0.0, 0.0, 0.0], "zero quaternion"),
    "flake": (1, [1.0, 1.0, 1e-7], "extreme aspect"),
    "dust": (1, [1e-13, 1e-13, 1e-13], "out of range"),
    "giant": (1, [2e12, 2e12, 2e12], "out of range"),
    "far": (0, [0.0, 0.0, 2e15], "out of range"),
    "huge quaternion": (2, [1e200, 0.0, 0.0, 0.0], "out of range"),
}


@pytest.mark.parametrize("name", BAD)
def test_every_kind_of_bad_row_is_named_and_dropped(name, rng):
    part, value, reason = BAD[name]
    arrays = _good(rng)
    arrays[part][[7, 30]] = value
    with pytest.raises(InvalidEllipsoidError, match=f"2 of {N} rows are invalid\n  {reason}") as raised:
        Ellipsoids.from_axes(*arrays)
    assert raised.value.report.invalid == {reason: Invalid(2, (7, 30))}
    cloud = Ellipsoids.from_axes(*arrays, on_invalid="drop")
    assert cloud.report.dropped == 2 and cloud.report.invalid == raised.value.report.invalid
    _is_void(cloud, [7, 30])


def _is_void(cloud, rows):
    """The rows are bodies without extent, and all others are whole."""
    void = np.zeros(len(cloud), bool)
    void[rows] = True
    np.testing.assert_array_equal((cloud.bodies.semi_axes == 0).all(1), void)
    np.testing.assert_array_equal((cloud.bodies.semi_axes > 0).all(1), ~void)
    np.testing.assert_array_equal(cloud.bodies.quaternion[void], np.tile([1, 0, 0, 0], (void.sum(), 1)))
    np.testing.assert_array_equal(cloud.bodies.center.cell[void], 0)
    assert all(np.isfinite(leaf).all() for leaf in (cloud.bodies.center.offset, cloud.bodies.quaternion))


def test_dropped_rows_change_nothing_for_the_others(rng):
    arrays = _good(rng)
    kept = np.arange(N) % 4 != 1
    alone = Ellipsoids.from_axes(*(array[kept] for array in arrays))
    arrays[0][~kept] = 1e300
    cloud = Ellipsoids.from_axes(*arrays, on_invalid="drop")
    assert cloud.anchor == alone.anchor
    np.testing.assert_array_equal(cloud.bodies.center.cell[kept], alone.bodies.center.cell)
    np.testing.assert_array_equal(cloud.bodies.semi_axes[kept], alone.bodies.semi_axes)


def test_a_row_counts_once_and_only_ten_are_listed(rng):
    center, semi_axes, quaternion = _good(rng)
    center[5:20], semi_axes[:25], quaternion[3] = np.nan, -1.0, 0.0
    cloud = Ellipsoids.from_axes(center, semi_axes, quaternion, on_invalid="drop")
    assert cloud.report.invalid == {
        "NaN": Invalid(15, tuple(range(5, 15))),
        "zero quaternion": Invalid(1, (3,)),
        "non-positive axis": Invalid(9, (0, 1, 2, 4, 20, 21, 22, 23, 24)),
    }
    assert cloud.report.dropped == 25


def test_the_message_says_all(rng):
    center, semi_axes, quaternion = _good(rng)
    center[4], semi_axes[8:], quaternion[3] = np.nan, (1, 1, 1e-8), 0.0
    with pytest.raises(ValueError) as raised:
        Ellipsoids.from_axes(center, semi_axes, quaternion)
    for part in (
        *("34 of 40 rows are invalid", "NaN", "rows 4\n", "zero quaternion", "rows 3\n", "rows 8, 9, 10, 11, 12, 13"),
        *("17, ...", "exceeds max_aspect", 'on_invalid="drop"', '"clamp"'),
    ):
        assert part in str(raised.value)


def test_clamping_raises_short_axes_and_drops_the_rest(rng):
    center, semi_axes, quaternion = _good(rng)
    semi_axes[2], semi_axes[3], semi_axes[4] = (4, 0, 1e-3), (-1, -1, -1), (np.nan, 1, 1)
    semi_axes[5], quaternion[5] = (1, 0, 1), 0.0
    cloud = Ellipsoids.from_axes(center, semi_axes, quaternion, on_invalid="clamp", max_aspect=100)
    np.testing.assert_allclose(cloud.bodies.semi_axes[2], [4, 0.04, 0.04], rtol=1e-6)
    _is_void(cloud, [3, 4, 5])
    assert (cloud.report.clamped, cloud.report.dropped) == (1, 3)
    assert cloud.report.invalid == {
        "NaN": Invalid(1, (4,)),
        "zero quaternion": Invalid(1, (5,)),
        "non-positive axis": Invalid(2, (2, 3)),
    }
    assert cloud.report.largest_aspect == pytest.approx(100)


@pytest.mark.parametrize("max_aspect", [3.0, 7.0, 1e3, 123456.7])
def test_clamped_rows_are_never_judged_extreme_again(max_aspect, rng):
    semi_axes = np.exp(rng.uniform(-9, 9, (2000, 3)))
    cloud = Ellipsoids.from_axes(np.zeros((2000, 3)), semi_axes, on_invalid="clamp", max_aspect=max_aspect)
    assert cloud.report.dropped == 0 and cloud.report.clamped == cloud.report.invalid["extreme aspect"].count


def test_matrices_that_are_no_rotations(rng):
    center, semi_axes, quaternion = _good(rng)
    matrix = Rotation.from_quat(quaternion, scalar_first=True).as_matrix()
    matrix[1] *= 1.01
    matrix[2, :, 0] = matrix[2, :, 1]
    matrix[3], matrix[4], matrix[5] = 0, np.nan, np.inf
    matrix[6] += 1e-5
    for policy in ("drop", "clamp"):
        cloud = Ellipsoids.from_axes(center, semi_axes, matrix, on_invalid=policy)
        assert cloud.report.invalid == {
            "NaN": Invalid(1, (4,)),
            "infinite": Invalid(1, (5,)),
            "not a rotation": Invalid(3, (1, 2, 3)),
        }
        _is_void(cloud, [1, 2, 3, 4, 5])


def _covariances(rng):
    turn = Rotation.random(N, rng).as_matrix()
    values = np.tile([1.0, 4.0, 9.0], (N, 1))
    values[3], values[4], values[5] = (-1, 4, 9), (0, 4, 9), (-1, -1, -4)
    matrix = np.einsum("nij,nj,nkj->nik", turn, values, turn)
    matrix[1, 0, 2] += 0.5
    matrix[6, 0, 1], matrix[7, 2, 2], matrix[8] = np.nan, np.inf, 0.0
    return matrix


def test_bad_covariances(rng):
    center, matrix = np.zeros((N, 3)), _covariances(rng)
    cloud = Ellipsoids.from_covariance(center, matrix, on_invalid="drop")
    assert cloud.report.invalid == {
        "NaN": Invalid(1, (6,)),
        "infinite": Invalid(1, (7,)),
        "not symmetric": Invalid(1, (1,)),
        "not positive semidefinite": Invalid(2, (3, 5)),
        "non-positive axis": Invalid(2, (4, 8)),
    }
    _is_void(cloud, [1, 3, 4, 5, 6, 7, 8])


def test_clamped_covariances_have_floored_eigenvalues(rng):
    center, matrix = np.zeros((N, 3)), _covariances(rng)
    cloud = Ellipsoids.from_covariance(center, matrix, on_invalid="clamp", max_aspect=30)
    assert (cloud.report.clamped, cloud.report.dropped) == (2, 5)
    np.testing.assert_allclose(np.sort(cloud.bodies.semi_axes[[3, 4]]), [[0.1, 2, 3]] * 2, rtol=1e-6)
    values = np.linalg.eigvalsh(matrix[3])
    turn = Rotation.from_quat(cloud.bodies.quaternion[3], scalar_first=True).as_matrix()
    rebuilt = turn @ np.diag(np.float64(cloud.bodies.semi_axes[3]) ** 2) @ turn.T
    np.testing.assert_allclose(np.linalg.eigvalsh(rebuilt), [0.01, *values[1:]], rtol=1e-5)


def test_float32_covariances_pass_for_symmetric(rng):
    turn = Rotation.random(N, rng).as_matrix().astype(np.float32)
    covariance = (turn * np.float32([1.0, 4.0, 0.01])) @ turn.transpose(0, 2, 1)
    assert not Ellipsoids.from_covariance(np.zeros((N, 3)), covariance).report.invalid


def test_rows_are_counted_across_blocks(rng):
    n = 2 * BLOCK + 100
    radius = np.ones(n)
    bad = np.array([3, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 99])
    radius[bad] = 0
    cloud = Ellipsoids.from_spheres(np.zeros((n, 3)), radius, on_invalid="drop")
    assert cloud.report.invalid == {"non-positive axis": Invalid(5, tuple(bad))}
    _is_void(cloud, bad)


def test_nothing_but_bad_rows(rng):
    cloud = Ellipsoids.from_spheres(np.zeros((3, 3)), np.zeros(3), on_invalid="clamp")
    assert cloud.report.dropped == 3 and cloud.anchor.step == 1.0
    _is_void(cloud, [0, 1, 2])


def test_reports_hash_and_compare(rng):
    one, other = (Ellipsoids.from_spheres(np.zeros((2, 3)), [1, 0], on_invalid="drop").report for _ in range(2))
    assert one == other and hash(one) == hash(other)
    assert one != Ellipsoids.from_spheres(np.zeros((2, 3)), [1, 1]).report
