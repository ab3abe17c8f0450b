"""How much the walls of a box reflect if its sound decays in a given time."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.audio.level import root
from jaxkit.ranges import one_of_names

Array = jax.Array
SOUND_SPEED = 343.0
FORMULAS = ("box", "eyring", "sabine")
SHORTEST_SECONDS = 1e-3
NODES = 16
STEPS = 8


def wall_reflection(room: Array, t60: Array | float, *, formula: str = "box") -> Array:
    """The amplitude that all walls of a room reflect if its sound decays by 60 dB in `t60` seconds.

    `sabine` and `eyring` hold for a diffuse field, which a box with plane walls does not have: what travels along its
    longest side meets few walls and decays slowly, so its images take up to half as long again. `box` is the mean of
    the decays of all directions; `t60` is then what a measurement finds: three times the time from -5 to -25 dB of the
    energy that is still to come (ISO 3382-2).

    Args:
      room: `[3]` float32, metres.
      t60: seconds, at least 1e-3. Where it is too short for Sabine's formula the walls reflect nothing.
      formula: `box`, `eyring` or `sabine`.

    Raises:
      ValueError: if the formula is unknown.
    """
    one_of_names("formula", formula, FORMULAS)
    t60 = jnp.maximum(t60, SHORTEST_SECONDS)
    if formula == "box":
        return jnp.exp(-3.0 * _slow_part(room) / (2.0 * SOUND_SPEED * t60))
    # Four volumes over the surface is the mean free path; here twice its inverse, the sum of the inverse sides.
    lost = 12.0 * math.log(10.0) / (SOUND_SPEED * jnp.sum(1.0 / room) * t60)
    if formula == "eyring":
        return jnp.exp(-0.5 * lost)
    kept = 1.0 - lost
    return root(kept)


def _slow_part(room: Array) -> Array:
    """The time from -5 to -25 dB, where a direction that meets `g` walls per metre decays with `exp(-g * time)`."""
    directions, weights = (jnp.asarray(value) for value in _octant())
    walls = jnp.sum(directions / room[None, :], axis=1)
    start = weights / walls

    def time_at(decibels: float) -> Array:
        target = decibels * math.log(10.0) / 10.0 + jnp.log(jnp.sum(start))
        time = jnp.float32(0.0)
        # The logarithm is convex and falls: Newton's method comes from the left, without overshooting.
        for _ in range(STEPS):
            left = start * jnp.exp(-walls * time)
            time = time + (jnp.log(jnp.sum(left)) - target) * jnp.sum(left) / jnp.sum(left * walls)
        return time

    return time_at(-25.0) - time_at(-5.0)


@functools.cache
def _octant() -> tuple[np.ndarray, np.ndarray]:
    """Directions `[256, 3]` and weights `[256]` of a quadrature over an eighth of the sphere."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    z, turn = (part.reshape(-1) for part in np.meshgrid(nodes, 0.5 * np.pi * nodes, indexing="ij"))
    across = np.sqrt(1.0 - z**2)
    directions = np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=1)
    return directions.astype(np.float32), np.outer(weights, weights).reshape(-1).astype(np.float32)
