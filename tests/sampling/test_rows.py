"""Quaternions of matrices, against SciPy."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxkit.sampling.rows import quaternion_of


def _turns(rng):
    """Random turns, and turns by almost half a circle, where the real part vanishes."""
    axes = rng.normal(size=(600, 3))
    axes[:300] = np.eye(3)[rng.integers(0, 3, 300)] + rng.normal(0, 1e-9, (300, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    angles = np.pi - 10.0 ** rng.uniform(-12, 0, (600, 1))
    return Rotation.concatenate([Rotation.random(1000, rng), Rotation.from_rotvec(axes * angles)])


@pytest.mark.parametrize("mirror", [1, -1])
def test_matrices_of_any_turn(mirror, rng):
    turns = _turns(rng)
    found = quaternion_of(mirror * turns.as_matrix())
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    same = np.abs(np.einsum("ni,ni->n", found, turns.as_quat(scalar_first=True)))
    np.testing.assert_allclose(same, 1, atol=1e-14)


def test_matrices_in_float32_yield_quaternions_as_good(rng):
    turns = _turns(rng)
    found = quaternion_of(turns.as_matrix().astype(np.float32).astype(np.float64))
    error = Rotation.from_quat(found, scalar_first=True) * turns.inv()
    assert error.magnitude().max() < 2e-7
