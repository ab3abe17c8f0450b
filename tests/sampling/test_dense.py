"""The union of small clouds in traced code: its law, its shapes under vmap, and its errors."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.sampling.dense import sample_union_dense
from tests.reference import union
from tests.reference.union import FIVE_SIGMA, sigmas
from tests.sampling import clouds


def _arrays(shapes):
    return [jnp.asarray(part, jnp.float32) for part in shapes]


@functools.partial(jax.jit, static_argnames=("proposals", "count"))
def _draw(key, center, semi_axes, quaternion, proposals, count=None):
    return sample_union_dense(key, center, semi_axes, quaternion, proposals=proposals, count=count)


def _kept(seed, shapes, proposals):
    draw = jax.tree.map(np.asarray, _draw(jax.random.key(seed), *_arrays(shapes), proposals=proposals))
    return draw.points[draw.keep], draw.source[draw.keep], draw


def test_a_ball_is_filled_evenly(rng):
    center, radius = np.array([3.0, -2, 1]), 2.5
    points, source, draw = _kept(1, clouds.balls([center], radius), 100_000)
    assert draw.keep.all() and (source == 0).all()
    unit = (points - center) / radius
    truth = union.sample(clouds.balls([[0, 0, 0]], 1.0).solids(), 100_000, rng)
    assert union.chi_square(unit, truth) > FIVE_SIGMA and union.kolmogorov(unit, truth) > FIVE_SIGMA
    assert draw.volume == pytest.approx(clouds.BALL * radius**3, rel=1e-6) and draw.volume_stderr == 0


@pytest.mark.parametrize("matrix", [np.eye(3), [[2, 0.5, 0], [0.1, 0.4, 0.3], [-1, 0, 0.7]]], ids=["plain", "affine"])
def test_a_lens_is_counted_once(matrix):
    points, _, draw = _kept(2, clouds.lens(matrix), 200_000)
    regions = clouds.lens_regions(points, matrix)
    assert sigmas(len(points), 200_000, 27 / 32) < 5
    assert all(sigmas(regions[name], len(points), share) < 5 for name, share in clouds.LENS_SHARES.items())
    truth = clouds.LENS_VOLUME * abs(np.linalg.det(matrix))
    assert abs(draw.volume - truth) < 5 * draw.volume_stderr < 0.02 * truth


def test_a_ball_within_a_ball_owns_nothing_twice():
    shapes = clouds.nested()
    points, source, _ = _kept(3, shapes, 200_000)
    assert (source == 0).all()
    inner = union.covered_by(shapes.solids(), points)[:, 1].sum()
    assert sigmas(inner, len(points), 1 / 8) < 5


def test_copies_of_a_ball_weigh_as_one():
    points, _, draw = _kept(4, clouds.identical_balls(300), 300_000)
    assert sigmas((points[:, 1] > 2.5).sum(), len(points), 0.5) < 5
    assert abs(draw.volume - 2 * clouds.BALL) < 5 * draw.volume_stderr


def test_one_large_and_many_small_balls_share_alike():
    points, source, draw = _kept(5, clouds.ball_and_many(15), 20_000)
    assert draw.keep.all() and sigmas((source == 0).sum(), len(source), 0.5) < 5
    small = np.bincount(source, minlength=1 + 15**3)[1:]
    assert union.alike(small, np.full_like(small, round(small.mean() * 1e3))) > FIVE_SIGMA


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "proposals"), [("blobs", 20_000), ("decades", 20_000), ("flakes", 5000), ("needles", 1000)]
)
def test_random_clouds_agree_with_rejection_from_the_box(kind, proposals, rng):
    p = []
    for seed in range(20):
        shapes = clouds.random_cloud(rng, 60, 2.0, kind)
        points, source, _ = _kept(seed, shapes, proposals)
        truth = union.sample(shapes.solids(), len(points), rng)
        p += [union.chi_square(points, truth), union.kolmogorov(points, truth)]
        covered = union.covered_by(shapes.solids(), points)
        first = np.where(covered.any(1), covered.argmax(1), source)
        assert np.mean(first != source) < 1e-3  # within rounding of a surface
    assert min(p) > FIVE_SIGMA / len(p)
    assert np.median(p) > 0.1


def test_the_interval_of_the_volume_covers_at_its_rate():
    keys = jax.random.split(jax.random.key(6), 1000)
    center, semi_axes, quaternion = _arrays(clouds.lens())
    draw = jax.vmap(lambda key: _draw(key, center, semi_axes, quaternion, proposals=1000))(keys)
    hits = int((abs(draw.volume - clouds.LENS_VOLUME) < 1.959964 * draw.volume_stderr).sum())
    assert sigmas(hits, 1000, 0.95) < 5


def test_keys_and_clouds_may_be_mapped(rng):
    many = [_arrays(clouds.random_cloud(rng, 7)), _arrays(clouds.random_cloud(rng, 7))]
    stacked = [jnp.stack(parts) for parts in zip(*many, strict=True)]
    keys = [jax.random.key(7), jax.random.key(8)]
    both = jax.random.wrap_key_data(jnp.stack([jax.random.key_data(key) for key in keys]))
    whole = jax.vmap(lambda key, *cloud: _draw(key, *cloud, proposals=500))(both, *stacked)
    for index in range(2):
        alone = _draw(keys[index], *many[index], proposals=500)
        np.testing.assert_array_equal(whole.keep[index], alone.keep)
        np.testing.assert_allclose(whole.points[index], alone.points, rtol=1e-5, atol=1e-5)


def test_rows_of_zeros_are_no_bodies():
    plain = clouds.lens()
    padded = [np.concatenate([part, np.zeros((3, part.shape[1]))]) for part in plain]
    padded[2][2:, 0] = 1
    points, source, draw = _kept(8, padded, 50_000)
    assert source.max() == 1 and abs(draw.volume - clouds.LENS_VOLUME) < 5 * draw.volume_stderr
    nothing = _draw(jax.random.key(8), *_arrays(clouds.balls(np.zeros((2, 3)), 0.0)), proposals=10)
    assert not nothing.keep.any() and nothing.volume == 0


def test_a_nan_keeps_nothing():
    center, semi_axes, quaternion = _arrays(clouds.lens())
    draw = _draw(jax.random.key(9), center, semi_axes.at[0, 0].set(jnp.nan), quaternion, proposals=100)
    assert not draw.keep.any() and math.isnan(draw.volume)


def test_a_count_takes_the_first_that_were_kept():
    arrays = _arrays(clouds.identical_balls(9))
    whole = _draw(jax.random.key(10), *arrays, proposals=2000)
    some = _draw(jax.random.key(10), *arrays, proposals=2000, count=100)
    assert some.keep.all() and some.points.shape == (100, 3)
    np.testing.assert_array_equal(some.points, np.asarray(whole.points)[np.asarray(whole.keep)][:100])
    short = _draw(jax.random.key(10), *arrays, proposals=2000, count=2000)
    np.testing.assert_array_equal(short.keep, np.arange(2000) < int(whole.keep.sum()))


def test_no_table_of_all_tests_is_stored(rng):
    arrays, proposals = _arrays(clouds.random_cloud(rng, 4096)), 2**16
    analysis = _draw.lower(jax.random.key(0), *arrays, proposals=proposals).compile().memory_analysis()
    assert analysis.temp_size_in_bytes < 1000 * proposals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"semi_axes": jnp.ones((2, 2))}, r"semi_axes must be \[N, 3\].*\[2, 2\]"),
        ({"quaternion": jnp.ones((3, 4))}, r"quaternion must be \[N, 4\].*\[3, 4\]"),
        ({"proposals": 5}, "at least count, not 5 and 10"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    right = {"center": jnp.zeros((2, 3)), "semi_axes": jnp.ones((2, 3)), "quaternion": jnp.ones((2, 4))}
    with pytest.raises(ValueError, match=message):
        sample_union_dense(jax.random.key(0), **{**right, "proposals": 20, "count": 10, **change})


def test_large_clouds_are_sent_to_the_other_function():
    arrays = jnp.zeros((4097, 3)), jnp.ones((4097, 3)), jnp.ones((4097, 4))
    with pytest.raises(ValueError, match="sample_union"):
        sample_union_dense(jax.random.key(0), *arrays, proposals=1)
