"""The geometry of ellipsoids, component by component, so that long arrays of bodies fill vector registers."""

import math

import jax.numpy as jnp

from jaxkit.sampling.anchor import Array

BALL = 4.0 / 3.0 * math.pi


def rotation(quaternion: Array) -> tuple[tuple[Array, Array, Array], ...]:
    """The rows of the rotation matrix of unit quaternions `[..., 4]` (w, x, y, z); body axes are its columns."""
    w, x, y, z = (quaternion[..., index] for index in range(4))
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def to_body(matrix: tuple, d: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """World displacements in the axes of the body, `R^T d`."""
    return tuple(sum(matrix[row][axis] * d[row] for row in range(3)) for axis in range(3))


def to_world(matrix: tuple, u: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """Displacements in the axes of the body in those of the world, `R u`."""
    return tuple(sum(matrix[row][axis] * u[axis] for axis in range(3)) for row in range(3))


def square_radius(matrix: tuple, semi_axes: Array, d: tuple[Array, Array, Array]) -> Array:
    """`|diag(1 / s) R^T d|^2`: at most 1 within the ellipsoid. NaN or infinite for a body without extent.

    Not `d^T A d` with the inverse covariance A: in float32, at an aspect of 10^4, that puts a quarter of the places
    near the surface on the wrong side, this form one in ten thousand.
    """
    scaled = [part / semi_axes[..., axis] for axis, part in enumerate(to_body(matrix, d))]
    return sum(part * part for part in scaled)


def half_extent(matrix: tuple, semi_axes: Array) -> tuple[Array, Array, Array]:
    """Half the edges of the tight upright box, `sqrt(sum_k (R_ik s_k)^2)`."""
    squares = ([(matrix[row][axis] * semi_axes[..., axis]) ** 2 for axis in range(3)] for row in range(3))
    return tuple(jnp.sqrt(sum(parts)) for parts in squares)


def volume(semi_axes: Array) -> Array:
    """`4/3 pi a b c`."""
    return BALL * semi_axes[..., 0] * semi_axes[..., 1] * semi_axes[..., 2]
