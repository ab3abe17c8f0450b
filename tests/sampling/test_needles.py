"""Parts of long bodies: every place lies in exactly one, and they are few."""

import numpy as np
import pytest

from jaxkit.sampling.levels import levels
from jaxkit.sampling.needles import cuts, is_elongated, part, part_levels

AXES = np.float32([[100, 1, 1], [1, 80, 100], [1, 1, 1], [3, 1000, 0.1], [0.01, 100, 0.02]])


def test_what_is_elongated():
    axes = np.float32([[8, 1, 1], [8.1, 1, 1], [1, 9, 9], [0, 0, 0], [2, 3, 16]])
    np.testing.assert_array_equal(is_elongated(axes), [False, True, True, False, False])


@pytest.mark.parametrize("candidates", [1, 64, 1000, 10_000_000])
def test_cuts_follow_the_shape_and_the_candidates(candidates):
    number = cuts(AXES, np.full(len(AXES), candidates))
    most = max(1, np.ceil(np.cbrt(candidates / 8)))
    assert (number >= 1).all() and (number <= most).all()
    np.testing.assert_array_equal(number[2], 1)
    np.testing.assert_array_equal(number[0, 1:], 1)
    assert (number[np.arange(5), AXES.argmin(1)] == 1).all()
    if candidates == 10_000_000:
        np.testing.assert_array_equal(number[0], [100, 1, 1])
        assert number[1].prod() > 2000


def test_every_place_lies_in_exactly_one_part(rng):
    number = cuts(AXES, np.full(len(AXES), 5000))
    body, low, high = part(number)
    assert len(body) <= number.prod(1).sum()
    unit = rng.normal(0, 1, (2000, 3))
    unit *= rng.random((2000, 1)) ** (1 / 3) / np.linalg.norm(unit, axis=1, keepdims=True)
    edges = np.unique(low[np.isfinite(low)])[:50, None] * [1, 0, 0]
    unit = np.concatenate([unit, edges, np.eye(3), -np.eye(3), np.zeros((1, 3))]).astype(np.float32)
    for one in range(len(AXES)):
        inside = (unit[:, None] >= low[body == one]) & (unit[:, None] < high[body == one])
        np.testing.assert_array_equal(inside.all(2).sum(1), 1)


def test_parts_outside_of_the_body_are_left_out():
    body, low, high = part(np.array([[20, 20, 1]]))
    assert np.pi / 4 * 400 <= len(body) < 400
    assert not ((low[:, 0] > 0.8) & (low[:, 1] > 0.8)).any()


def test_parts_are_of_lower_levels_than_their_bodies():
    number = cuts(AXES, np.full(len(AXES), 100_000))
    body, low, high = part(number)
    own, small = levels(AXES, 1 / 64), part_levels(AXES[body], low, high, 1 / 64)
    assert (small[body == 0] <= own[0] - 3).all()
    assert (small[body == 4] <= own[4] - 3).all()
    width = 2 * np.sqrt((((np.clip(high, -1, 1) - np.clip(low, -1, 1)) / 2 * AXES[body]) ** 2).sum(1))
    assert (width * 64 <= 2.0**small).all() and (2.0 ** (small - 1) <= width * 64 * 1.01 + 1).all()


def test_parts_may_be_finer_than_a_step():
    axes = np.float32([[1, 0.001, 0.001]])
    body, low, high = part(np.array([[100, 1, 1]]))
    np.testing.assert_array_equal(part_levels(axes[body], low, high, 2.0), -6)
