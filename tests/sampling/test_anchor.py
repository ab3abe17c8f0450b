"""Cells and offsets against float64, at coordinates as surveyors and satellites have them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.sampling.anchor import Anchor, Position, difference, displaced, fitted

UTM = np.array([448_262.0, 5_411_932.0, 120.0])
ECEF = np.array([4_200_952.7, 172_471.3, 4_780_054.1])


@pytest.mark.parametrize("place", [np.zeros(3), UTM, ECEF], ids=["zero", "utm", "ecef"])
def test_places_come_back(place, rng):
    world = place + rng.uniform(-2000, 2000, (500, 3))
    anchor = fitted(world.min(0), world.max(0), 0.02)
    assert anchor.step == 2.0**-6
    np.testing.assert_allclose(anchor.to_float64(anchor.place(world)), world, atol=2e-9, rtol=0)


@pytest.mark.parametrize("place", [UTM, ECEF], ids=["utm", "ecef"])
def test_differences_keep_what_float32_coordinates_lose(place, rng):
    a = place + rng.uniform(-500, 500, (1000, 3))
    b = a + rng.uniform(-0.05, 0.05, (1000, 3))
    anchor = fitted(a.min(0), a.max(0), 0.02)
    found = np.stack(difference(anchor.place(b), anchor.place(a), np.float32(anchor.step)), -1)
    np.testing.assert_allclose(found, b - a, atol=4e-9, rtol=0)
    assert np.abs(b.astype(np.float32) - a.astype(np.float32) - (b - a)).max() > 0.01


def test_displaced_positions_have_offsets_within_a_cell(rng):
    anchor = Anchor((0.0, 0.0, 0.0), 0.25)
    world, by = rng.uniform(-3, 3, (400, 3)), rng.uniform(-5, 5, (400, 3))
    position = jax.tree.map(jnp.asarray, anchor.place(world))
    moved = displaced(position, tuple(jnp.asarray(by.T, jnp.float32)), jnp.float32(0.25))
    assert (np.asarray(moved.offset) >= 0).all() and (np.asarray(moved.offset) <= 0.25).all()
    np.testing.assert_allclose(anchor.to_float64(moved), world + by, atol=2e-6)


def test_the_origin_is_short_and_near_the_centre():
    anchor = fitted(UTM - 300, UTM + 700, 0.5)
    assert anchor.origin == (448_500.0, 5_412_100.0, 300.0)
    assert fitted(np.full(3, -1.0), np.full(3, 1.0), 0.5).origin == (0.0, 0.0, 0.0)


def test_a_given_origin_is_taken_and_widens_the_cells_when_far():
    near = fitted(np.full(3, 9.0), np.full(3, 11.0), 0.3, origin=(1.0, 2.0, 3.0))
    assert near == Anchor((1.0, 2.0, 3.0), 0.25)
    far = fitted(np.full(3, 2.0**40), np.full(3, 2.0**40 + 8), 1.0, origin=(0.0, 0.0, 0.0))
    assert far.step >= 2.0**41 / 2.0**30
    assert np.abs(far.place(np.full((1, 3), 2.0**40 + 8)).cell).max() < 2**30


def test_cells_are_as_small_as_the_smallest_body_unless_the_cloud_is_too_wide():
    assert fitted(np.zeros(3), np.full(3, 1e6), 1.99).step == 1.0
    assert fitted(np.zeros(3), np.full(3, 2.0**40), 1e-3, origin=(2.0**39,) * 3).step == 2.0**10


def test_an_empty_cloud_has_an_anchor():
    nothing = np.full(3, np.inf), np.full(3, -np.inf), np.inf
    assert fitted(*nothing) == Anchor()
    assert fitted(*nothing, origin=(1, 2, 3)) == Anchor((1.0, 2.0, 3.0), 1.0)


@pytest.mark.parametrize("origin", [(0.0, 1.0), (0.0, np.nan, 1.0), 5.0])
def test_other_origins_are_refused(origin):
    with pytest.raises(ValueError, match="origin must be three finite numbers"):
        fitted(np.zeros(3), np.ones(3), 1.0, origin=origin)


@pytest.mark.parametrize("value", [np.nan, np.inf, -3e9, 3e9])
def test_places_beyond_the_cells_are_refused(value):
    with pytest.raises(ValueError, match="finite and within 2\\*\\*31 steps"):
        Anchor().place(np.array([[0.0, value, 0.0]]))


def test_no_places_are_fine():
    assert isinstance(Anchor().place(np.zeros((0, 3))), Position)
    assert Anchor().place(np.zeros((0, 3))).cell.shape == (0, 3)
