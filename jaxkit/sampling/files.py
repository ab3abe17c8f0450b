"""Clouds in files, read block by block, so that they need not fit in memory."""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

from jaxkit.sampling import ingest, npz, ply, text, validate
from jaxkit.sampling.anchor import Anchor
from jaxkit.sampling.columns import Reading
from jaxkit.sampling.ellipsoids import Bodies, Ellipsoids
from jaxkit.sampling.report import Report
from jaxkit.sampling.rows import Source
from jaxkit.sampling.validate import Rules

FORMATS = {".npz": npz.source, ".ply": ply.source, ".csv": text.csv}


@dataclasses.dataclass(frozen=True)
class CloudFile:
    """A cloud in a file. Made by `open_cloud`; samplers take it in place of `Ellipsoids`.

    Attributes:
      path: the file, which must stay as it is.
      anchor: the frame of the cloud.
      report: what validation found.
      source: where rows come from.
      rules: what is done about invalid rows.
    """

    path: str
    anchor: Anchor
    report: Report
    source: Source
    rules: Rules

    def __len__(self) -> int:
        return self.source.rows

    def chunks(self, rows: int) -> Iterator[tuple[int, Bodies]]:
        """`(first, bodies)` in order, `rows` at a time, the last shorter; the next two are read meanwhile."""
        spans = ((first, min(first + rows, len(self))) for first in range(0, len(self), rows))
        return ingest.ahead(self._chunk, spans)

    def _chunk(self, span: tuple[int, int]) -> tuple[int, Bodies]:
        return span[0], Bodies(*ingest.bodies(self.source, self.rules, self.anchor, *span))

    def to_memory(self) -> Ellipsoids:
        """The same cloud in memory: 52 bytes a row."""
        placed = ingest.load(self.source, self.rules, self.anchor)
        return Ellipsoids(Bodies(*placed), self.anchor, self.report)


def open_cloud(
    path: str | os.PathLike,
    *,
    quaternion_order: str = "wxyz",
    scale: float = 1.0,
    k: float = 1.0,
    k_sigma: float | None = None,
    iso_opacity: float | None = None,
    min_opacity: float = 0.0,
    origin: tuple[float, float, float] | None = None,
    on_invalid: str = "raise",
    max_aspect: float = 1e6,
) -> CloudFile:
    """Opens a cloud and validates all of its rows, without keeping them in memory.

    `.npz` holds arrays `center` [N, 3] and one of `semi_axes` [N, 3] (with `quaternion` [N, 4] or `rotation`
    [N, 3, 3], or upright), `radius` [N], `covariance` [N, 3, 3] or [N, 6] (xx, xy, xz, yy, yz, zz). Arrays stored in
    C order (`np.savez`) are read block by block, compressed ones whole.
    `.ply` (binary or ASCII) and `.csv` (names in the first line) hold columns x, y, z and one of a, b, c (semi-axes,
    with qw, qx, qy, qz, or upright), radius, cxx, cxy, cxz, cyy, cyz, czz. Other columns are ignored. A `.ply` may hold
    Gaussian splats instead, see `Ellipsoids.from_3dgs_ply`.

    Args:
      path: the file.
      quaternion_order: "wxyz" or "xyzw", for arrays; columns have names.
      scale: factor on semi-axes and radii, not on covariances.
      k: how many standard deviations, for covariances.
      k_sigma, iso_opacity, min_opacity: for Gaussian splats, see `Ellipsoids.from_3dgs_ply`.
      origin, on_invalid, max_aspect: see `Ellipsoids.from_axes`. A line without the numbers it should have is an
        invalid row too.

    Raises:
      InvalidEllipsoidError: if rows are invalid and on_invalid is "raise".
      ValueError: if the file is broken or does not hold a cloud, and for wrong settings.
      OSError: if it cannot be read.
    """
    kind, name = Path(path).suffix.lower(), os.fspath(path)
    if kind not in FORMATS:
        raise ValueError(f"{name} must be one of {', '.join(FORMATS)}, not {kind or 'without a suffix'}")
    rules = validate.rules(on_invalid, max_aspect)
    order = "wxyz" if kind != ".npz" else quaternion_order
    source = FORMATS[kind](name, Reading(scale, order, k, k_sigma, iso_opacity, min_opacity))
    anchor, report = ingest.survey(source, rules, origin=origin, where=name)
    return CloudFile(name, anchor, report, source, rules)
