"""Independent uniform points in the union of the bodies of a cloud."""

from collections.abc import Callable

import jax
import numpy as np

from jaxkit.sampling.anchor import Array
from jaxkit.sampling.brickset import BudgetError
from jaxkit.sampling.draw import UnionDraw
from jaxkit.sampling.drop import whole_blocks
from jaxkit.sampling.ellipsoids import Cloud
from jaxkit.sampling.methods import Method, Request, by_bricks, by_join
from jaxkit.sampling.occupancy import UnionIndex
from jaxkit.sampling.search import PILOT, Search
from jaxkit.sampling.tally import Tally, tally
from jaxkit.sampling.thinned import expected_share

METHODS: dict[str, Callable[[Request], Method]] = {"join": by_join, "bricks": by_bricks}
Listener = Callable[[str, int, int], None]

PROPOSAL_BYTES = 160
POINT_BYTES = 64
BUDGET = 3 * 10**9
MANY = 2**17
"""Bodies from which on a pass over all of them costs more than a guess from some."""
LEAST_COVER = 4.0
BRICKS_COST = 5.0


def sample_union(
    key: Array,
    cloud: Cloud,
    *,
    count: int,
    method: str = "auto",
    stratified: bool = False,
    chunk: int = 2**20,
    mesh: jax.sharding.Mesh | None = None,
    budget_bytes: int | None = None,
    max_proposals: int | None = None,
    progress: Listener | None = None,
) -> UnionDraw:
    """`count` independent points, exactly uniform in the union: where bodies overlap, they count once.

    Every body drops points as a Poisson process of one density, and a point stays in one of the bodies that cover its
    place only. What stays is a Poisson process in the union (see `drop`), in a random order, of which the first `count`
    are taken. By either method the result depends on the key and the cloud only: not on `chunk`, `mesh` or
    `budget_bytes`, and a larger count goes on where a smaller one ended. "auto" may choose by count and budget.

    Args:
      key: a typed key.
      cloud: `Ellipsoids`, a `CloudFile` that need not fit in memory, or a `UnionIndex` to sample one cloud repeatedly.
      count: how many points; 0 gives none.
      method: "join" tests each point against the bodies around it, "bricks" finds voxels of the union first, which pays
        where many bodies cover each place; "auto" lets a pilot decide. Their points differ, their law does not.
      stratified: each body receives its expected number of points rounded up or down before overlaps are resolved.
        Every place stays as likely, sums vary less, but the points are not independent.
      chunk: rows of the cloud at a time.
      mesh: devices that share the work.
      budget_bytes: memory for points in the making, 3 GB unless given; more of it means fewer passes.
      max_proposals: most points to try; unless given, a hundred million or two hundred for each point.
      progress: told `(stage, done, total)`: rows of the stage "tally", points of the stage "points".

    Raises:
      ValueError: for a negative count, an unknown method, a chunk or max_proposals below 1, or points wanted from a
        cloud without a body.
      LowAcceptanceError: if the count would take more than `max_proposals`.
      BudgetError: if the points themselves exceed the budget.
    """
    _check(count, method, budget_bytes, max_proposals)
    chunk = whole_blocks(chunk)
    tell = progress or (lambda stage, done, total: None)
    total = _tally(cloud, chunk, tell)
    if count and not total.bodies:
        raise ValueError(f"cannot draw {count} points: none of the {len(cloud)} rows of the cloud has a volume")
    request = Request(key, cloud, total, stratified, chunk, mesh, budget_bytes)
    search = _search(request, method, count, max_proposals or max(10**8, 200 * count))
    for found in search.windows():
        tell("points", min(found, count), count)
    tell("points", count, count)
    return search.finished(cloud, total.volume)


def _tally(cloud: Cloud, chunk: int, tell: Listener) -> Tally:
    if isinstance(cloud, UnionIndex):
        return cloud.tally
    return tally(cloud, chunk=chunk, listen=lambda done: tell("tally", done, len(cloud)))


def _search(request: Request, method: str, count: int, limit: int) -> Search:
    """The search by the chosen method; "auto" chooses by the share that a join keeps, of a part or of a window."""

    def by(name: str) -> Search:
        return Search(METHODS[name](request), count, limit, _room(request.budget_bytes), name)

    if not count:
        return by("join")
    if isinstance(request.cloud, UnionIndex):
        return by("join" if method == "join" else "bricks")
    if len(request.cloud) > MANY:
        request = request._replace(share=expected_share(request.key, request.cloud, chunk=request.chunk))
    if method == "bricks":
        return by("bricks")
    search = by("join")
    if method == "auto" and request.share is None:
        next(search.windows())
    try:
        return by("bricks") if method == "auto" and _worth_bricks(search, len(request.cloud)) else search
    except BudgetError:
        return search


def _worth_bricks(search: Search, bodies: int) -> bool:
    """Tests of a join grow with the square of the mean cover; bricks take a pass of some microseconds for each body."""
    cover = 1 / search.method.share if search.method.share else search.proposals / max(search.accepted, 1)
    missing = search.count - search.accepted
    return missing > 0 and cover > LEAST_COVER and missing * cover**2 > BRICKS_COST * bodies


def _check(count: int, method: str, budget_bytes: int | None, max_proposals: int | None) -> None:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise ValueError(f"count must be a whole number of at least 0, got {count!r}")
    if method != "auto" and method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(['auto', *METHODS])}, got {method!r}")
    if max_proposals is not None and not max_proposals >= 1:
        raise ValueError(f"max_proposals must be at least 1, got {max_proposals!r}")
    least = count * POINT_BYTES + PILOT * PROPOSAL_BYTES
    if budget_bytes is not None and budget_bytes < least:
        raise BudgetError(f"{count} points take {least:.3g} bytes while they are made, budget_bytes is {budget_bytes}")


def _room(budget_bytes: int | None) -> int:
    """Proposals that the budget holds at a time."""
    return max((BUDGET if budget_bytes is None else budget_bytes) // PROPOSAL_BYTES, PILOT)
