"""Uniform points from unions of ellipsoids, however many: clouds, points, volume, surface, occupancy.

A cloud is made by `Ellipsoids.from_axes` and its siblings, or opened by `open_cloud` where it need not fit in memory.
"""

from jaxkit.sampling.anchor import Anchor, Position
from jaxkit.sampling.bricks import Bricks
from jaxkit.sampling.brickset import BudgetError
from jaxkit.sampling.dense import DenseDraw, sample_union_dense
from jaxkit.sampling.draw import LowAcceptanceError, Stats, UnionDraw
from jaxkit.sampling.ellipsoids import Bodies, Cloud, Ellipsoids
from jaxkit.sampling.files import CloudFile, open_cloud
from jaxkit.sampling.mixture import MixtureDraw, sample_mixture
from jaxkit.sampling.occupancy import UnionIndex, build_index
from jaxkit.sampling.queries import contains, count_covering, owner
from jaxkit.sampling.report import InvalidEllipsoidError, Report
from jaxkit.sampling.spacing import SpacedDraw, poisson_disk
from jaxkit.sampling.surface import SurfaceDraw, sample_surface
from jaxkit.sampling.union import sample_union
from jaxkit.sampling.volume import Volume, union_volume
from jaxkit.sampling.voxelize import voxelize_union
from jaxkit.sampling.write import write_points

__all__ = [
    "Anchor",
    "Bodies",
    "Bricks",
    "BudgetError",
    "Cloud",
    "CloudFile",
    "DenseDraw",
    "Ellipsoids",
    "InvalidEllipsoidError",
    "LowAcceptanceError",
    "MixtureDraw",
    "Position",
    "Report",
    "SpacedDraw",
    "Stats",
    "SurfaceDraw",
    "UnionDraw",
    "UnionIndex",
    "Volume",
    "build_index",
    "contains",
    "count_covering",
    "open_cloud",
    "owner",
    "poisson_disk",
    "sample_mixture",
    "sample_surface",
    "sample_union",
    "sample_union_dense",
    "union_volume",
    "voxelize_union",
    "write_points",
]
