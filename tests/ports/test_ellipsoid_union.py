"""The port of union sampling: its slow programs, its voxels, and whether its proofs can fail."""

import dataclasses
import math
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxkit.port import Request

FOLDER = Path(__file__).parents[2] / "ports" / "ellipsoid_union"
QUICK = Request(quick=True)


def agreement(port, name):
    return next(one for one in port.agreement if one.name == name)


def test_the_slow_program_knows_the_lens_of_two_balls(module):
    rows = module("clouds").lens()
    points = module("slow").sample(np.random.default_rng(1), *rows, 4000)
    hits = (np.linalg.norm(points, axis=1) <= 1) & (np.linalg.norm(points - (1, 0, 0), axis=1) <= 1)
    share = 5 / 27
    assert abs(hits.mean() - share) < 5 * math.sqrt(share * (1 - share) / 4000)


def test_square_radius_is_that_of_the_inverse_covariance(module):
    clouds, slow = module("clouds"), module("slow")
    rows = clouds.scattered(20, seed=2)
    rotation, semi_axes = slow.rotation_matrix(rows.quaternion), rows.semi_axes.astype(np.float64)
    point = np.array([1.0, 2.0, 3.0])
    found = slow.square_radius(point, rows.center, rotation / semi_axes[:, None, :])
    for index in range(20):
        covariance = rotation[index] @ np.diag(semi_axes[index] ** 2) @ rotation[index].T
        gap = point - rows.center[index]
        assert found[index] == pytest.approx(gap @ np.linalg.solve(covariance, gap), rel=1e-9)


@pytest.mark.parametrize("cover", [1.3, 5.0])
def test_clouds_have_the_cover_that_was_asked_for(module, cover):
    clouds, distribution = module("clouds"), module("distribution")
    rows = clouds.scattered(3000, cover=cover, seed=3)
    edge = float(rows.center.max())
    thrown = np.random.default_rng(0).uniform(0.2 * edge, 0.8 * edge, (3000, 3))
    found = distribution.measured(thrown, rows)[0]
    assert found[found > 0].mean() == pytest.approx(cover, rel=0.1)
    for part, same in zip(rows, clouds.scattered(3000, cover=cover, seed=3), strict=True):
        np.testing.assert_array_equal(part, same)


def test_sizes_go_over_as_many_decades_as_asked(module):
    semi_axes = module("clouds").scattered(5000, decades=4.0, seed=1).semi_axes
    size = np.log10(np.cbrt(semi_axes.prod(1, dtype=np.float64)))
    assert -4.7 < size.min() < -3.7 and -0.5 < size.max() < 0.7
    with pytest.raises(ValueError, match="cover"):
        module("clouds").scattered(10, cover=0.5)


def as_bool(grid, shape):
    """A bit array as `[X, Y, Z]` bool."""
    found = np.unpackbits(grid.bits.numpy(), axis=2, bitorder="little").transpose(2, 1, 0).astype(bool)
    return found[tuple(slice(size) for size in shape)], int(found.sum())


@pytest.mark.parametrize("slab", [2**27, 2**12])
@pytest.mark.parametrize("settings", [{}, {"cover": 8.0}, {"decades": 2.0}])
def test_the_bit_array_holds_the_voxels_of_the_plain_grid(module, monkeypatch, slab, settings):
    bit_array, rows = module("bit_array"), module("clouds").scattered(200, seed=4, **settings)
    monkeypatch.setattr(bit_array, "SLAB_BYTES", slab)
    monkeypatch.setattr(bit_array, "ROWS", 500)
    voxel = 0.1 if settings.get("decades") else 0.3
    plain = module("voxels").voxelize(*rows, voxel=voxel).filled
    packed, count = as_bool(bit_array.voxelize(*rows, voxel=voxel), plain.shape)
    both = tuple(slice(size) for size in packed.shape)
    differing = int((packed != plain[both]).sum())
    assert differing <= 1e-4 * plain.sum() and abs(count - plain.sum()) <= differing


def test_the_plain_grid_holds_the_voxels_whose_centres_are_inside(module):
    rows = module("clouds").scattered(30, seed=6)
    grid = module("voxels").voxelize(*rows, voxel=0.4)
    centers = grid.low + 0.4 * (np.argwhere(np.ones_like(grid.filled)) + 0.5)
    inside = module("distribution").measured(centers, rows)[0] > 0
    np.testing.assert_array_equal(grid.filled.ravel(), inside)


@pytest.mark.parametrize("name", ["voxels", "bit_array"])
def test_voxel_points_are_uniform_in_the_filled_voxels(module, name):
    made, seed = module(name), (np.random.default_rng(3) if name == "voxels" else 3)
    rows = module("clouds").nested()
    points = made.sample(seed, *rows, 20_000, voxel=0.1)
    share = (np.linalg.norm(points - (0.5, 0, 0), axis=1) <= 1).mean()
    assert share == pytest.approx(1 / 8, abs=5 * math.sqrt(7 / 64 / 20_000) + 0.002)
    assert np.linalg.norm(points, axis=1).max() > 2


def test_the_voxel_leaves_the_error_that_was_asked_for(module):
    found, rows = module("discretisation"), module("clouds").scattered(400, seed=8)
    for error in (0.03, 0.01):
        voxel = found.voxel_size(rows.semi_axes, error)
        assert found.errors(rows, voxel).body == pytest.approx(error, rel=0.25)
    fine, coarse = (found.errors(rows, voxel) for voxel in (0.05, 0.5))
    assert fine.outside < 0.03 < 0.1 < coarse.outside
    assert found.errors(rows._replace(semi_axes=rows.semi_axes * 1e-3), 0.5).lost > 0.99


def test_known_shares_hold_and_a_biased_sampler_is_noticed(port, module):
    check = agreement(port, "analytic cases")
    verdict = check.check(port, QUICK)
    assert verdict.passed, verdict.message

    def crowded(key, center, semi_axes, quaternion, count):
        """Overlaps count twice: what a sampler does that forgets them."""
        rng = np.random.default_rng(int(jax.random.key_data(key)[-1]))
        body = rng.integers(0, len(center), count)
        return center[body] + semi_axes[body] * module("discretisation").ball(rng, count)

    wrong = check.check(dataclasses.replace(port, rewrite=crowded), QUICK)
    assert not wrong.passed and "standard errors off" in wrong.message


def test_points_lie_inside_and_stray_ones_are_noticed(port, module):
    check = agreement(port, "inside")
    verdict = check.check(port, QUICK)
    assert verdict.passed, verdict.message
    rewrite = port.rewrite
    for spoil in (lambda p: p * 1.5, lambda p: p[:-1], lambda p: np.repeat(p[::2], 2, 0), lambda p: p.astype("f")):
        spoiled = dataclasses.replace(port, rewrite=lambda *given, spoil=spoil: spoil(rewrite(*given)))
        assert not check.check(spoiled, QUICK).passed


def test_points_have_the_distribution_of_rejection(port, module):
    check = agreement(port, "same distribution")
    verdict = check.check(port, QUICK)
    assert verdict.passed, verdict.message

    def twice(seed, count):
        return module("distribution").columns(module("voxels").sample(
            np.random.default_rng(seed), *module("distribution").CLOUD, count, voxel=0.5))  # fmt: skip

    assert not dataclasses.replace(check, rewrite=twice).check(port, QUICK).passed


def test_keys_seed_the_other_programs(port):
    rows = next(case for case in port.cases(QUICK) if case.name == "one ball").inputs[1:4]
    for side in (port.reference, *port.alternatives.values()):
        first, again, other = (side(jax.random.key(seed), *rows, 50) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert first.shape == (50, 3) and not np.array_equal(first, other)
