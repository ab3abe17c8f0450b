"""Which grids a join builds is a matter of cost only: the counts are the same with all of them and with the fewest."""

import numpy as np
import pytest

from jaxkit.sampling import shelf
from jaxkit.sampling.join import covers, joined
from jaxkit.sampling.levels import levels
from jaxkit.sampling.shelf import Shelf
from tests.reference import cover
from tests.sampling.clouds import Shapes

SIZES = {0.3: 40, 1.0: 500, 2.2: 300, 7.0: 4, 30.0: 1}
"""How many bodies there are of each size: the rare ones may do without grids of their own."""


@pytest.fixture
def drawn(rng):
    """A cloud of many sizes, some long, and points in it with their sources."""
    radius = np.repeat(list(SIZES), list(SIZES.values()))
    axes = radius[:, None] * rng.uniform(0.7, 1.3, (len(radius), 3))
    axes[::9, 1:] /= 40
    turns = rng.normal(0, 1, (len(radius), 4))
    shapes = Shapes(rng.uniform(-8, 8, (len(radius), 3)), axes, turns / np.linalg.norm(turns, axis=1, keepdims=True))
    source = rng.integers(0, len(radius), 4000).astype(np.int32)
    unit = rng.normal(0, 1, (4000, 3))
    unit *= rng.random((4000, 1)) ** (1 / 3) / np.linalg.norm(unit, axis=1, keepdims=True)
    inner = np.einsum("nij,nj->ni", shapes.solids().matrix[source], unit * axes[source])
    cloud = shapes.cloud()
    return shapes, cloud, cloud.anchor.place(shapes.center[source] + inner), source


def _settings(monkeypatch, grid, compiling):
    monkeypatch.setattr(shelf, "GRID", grid)
    monkeypatch.setattr(shelf, "COMPILE", compiling)


@pytest.mark.parametrize("counted", ["any", "other", "prior"])
def test_grids_cost_time_and_change_no_count(counted, drawn, monkeypatch):
    shapes, cloud, position, source = drawn
    level = levels(cloud.bodies.semi_axes, cloud.anchor.step)
    settings = {"source": source, "level": level[source], "counted": counted}
    found = []
    for grid, compiling in ((0.0, np.inf), (1e9, -np.inf), (1e9, np.inf), (130.0, 0.0)):
        _settings(monkeypatch, grid, compiling)
        found.append(covers(cloud, position, **settings))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    expected = cover.counts(shapes.solids(), level, cloud.anchor.to_float64(position), source)
    sure = ~expected.close
    assert sure.mean() > 0.9
    np.testing.assert_array_equal(found[0][sure], getattr(expected, counted)[sure])


def _grids(drawn, counted):
    _, cloud, position, source = drawn
    level = levels(cloud.bodies.semi_axes, cloud.anchor.step)
    used = Shelf(cloud.anchor.step, position, source, level[source], counted)
    list(joined(cloud, used, 10**6, None))
    return {key for key, (grid, _) in used.grids.items() if grid is not None}


def test_rare_levels_do_with_the_grids_of_common_ones(drawn, monkeypatch):
    _settings(monkeypatch, 0.0, np.inf)
    own = _grids(drawn, "any")
    _settings(monkeypatch, 1e9, -np.inf)
    assert len(own) >= 5 and len(_grids(drawn, "any") & own) <= 3
    _settings(monkeypatch, 1e9, np.inf)
    assert len(_grids(drawn, "any")) < len(own)


def test_small_sources_have_grids_of_their_own_unless_nearly_all_are_small(drawn, monkeypatch):
    _settings(monkeypatch, 0.0, np.inf)
    ceilings = {ceiling for _, ceiling in _grids(drawn, "prior")}
    assert shelf.LARGEST in ceilings and len(ceilings) > 2
