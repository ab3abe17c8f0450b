"""Unions of ellipsoids as sparse sets of voxels."""

from jaxkit.sampling.bricks import Bricks
from jaxkit.sampling.ellipsoids import Cloud
from jaxkit.sampling.stamp import stamp
from jaxkit.sampling.voxel_tests import ROWS

BUDGET = 2**32


def voxelize_union(cloud: Cloud, voxel_size: float, *, rule: str = "center", budget_bytes: int | None = None) -> Bricks:
    """The voxels of a union, in bricks of 8 x 8 x 8 bits; memory follows the occupied bricks, not the box.

    Args:
      cloud: ellipsoids.
      voxel_size: edge of a voxel in the units of the world. The grid starts at the origin of the cloud's anchor.
      rule: "center": voxels whose centre is covered, in float32 in the axes of each body. "touched": a superset of the
        voxels that share a place with a body. "inside": a subset of the voxels that lie wholly in one body.
      budget_bytes: what bits and index may take while they grow; None: 4 GiB.

    Raises:
      BudgetError: before more than the budget is allocated, with the size that it would take.
      ValueError: for an unknown rule, a size that is not positive, or voxels that are too small to be numbered.
    """
    if rule not in ROWS:
        raise ValueError(f"rule must be one of {', '.join(ROWS)}, got {rule!r}")
    if not 0 < voxel_size < float("inf"):
        raise ValueError(f"voxel_size must be positive and finite, got {voxel_size}")
    budget = BUDGET if budget_bytes is None else budget_bytes
    brick, (bits,) = stamp(cloud, float(voxel_size), (rule,), None, budget)
    return Bricks(bits, brick, float(voxel_size), cloud.anchor.origin)
