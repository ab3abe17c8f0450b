"""Uniform points in the unit ball and on the unit sphere, from words."""

import math

import jax.numpy as jnp

from jaxkit.sampling.anchor import Array
from jaxkit.sampling.counter import uniform

Vector = tuple[Array, Array, Array]


def on_sphere(height: Array, azimuth: Array) -> Vector:
    """Uniform unit vectors, float32, from two words each: the height is uniform (Archimedes), and so is the angle."""
    z = 2.0 * uniform(height) - 1.0
    flat, angle = jnp.sqrt(1.0 - z * z), (2.0 * math.pi) * uniform(azimuth)
    return flat * jnp.cos(angle), flat * jnp.sin(angle), z


def in_ball(radii: Vector, height: Array, azimuth: Array) -> Vector:
    """Uniform points of the open unit ball, float32, from five words each.

    The radius is the largest of three uniforms: its distribution function is r^3, without a cube root.
    """
    first, second, third = (uniform(word) for word in radii)
    radius = jnp.maximum(jnp.maximum(first, second), third)
    x, y, z = on_sphere(height, azimuth)
    return radius * x, radius * y, radius * z
