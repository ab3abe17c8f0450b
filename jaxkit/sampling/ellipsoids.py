"""Clouds of ellipsoids."""

import dataclasses
import functools
import os
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from jaxkit.sampling import arguments, ingest, ply, validate
from jaxkit.sampling.anchor import Anchor, Array, Position
from jaxkit.sampling.columns import Reading
from jaxkit.sampling.report import Report
from jaxkit.sampling.rows import Source, of_arrays


class Bodies(NamedTuple):
    """Rows of a cloud, in the cloud's frame. What the compiled programs take.

    Attributes:
      center: `Position` of the centres, `[N, 3]` int32 cells and `[N, 3]` float32 offsets.
      semi_axes: `[N, 3]` float32, radii in the units of the world. All zero: no body, which covers nothing.
      quaternion: `[N, 4]` float32 (w, x, y, z), unit; body axes are the columns of its rotation matrix.
    """

    center: Position
    semi_axes: Array
    quaternion: Array


class Cloud(Protocol):
    """What samplers take: bodies that come in chunks, so that they need not fit in memory at once."""

    anchor: Anchor

    def __len__(self) -> int: ...

    def chunks(self, rows: int) -> Iterator[tuple[int, Bodies]]:
        """`(first, bodies)` in order; every chunk has `rows` rows but the last, which may be shorter."""
        ...


@functools.partial(jax.tree_util.register_dataclass, data_fields=["bodies"], meta_fields=["anchor", "report"])
@dataclasses.dataclass(frozen=True)
class Ellipsoids:
    """A cloud in memory. Made by `from_axes`, `from_covariance`, `from_spheres` or `from_3dgs_ply`."""

    bodies: Bodies
    anchor: Anchor = Anchor()
    report: Report | None = None

    def __len__(self) -> int:
        return self.bodies.semi_axes.shape[0]

    def chunks(self, rows: int) -> Iterator[tuple[int, Bodies]]:
        """`(first, bodies)` in order, `rows` at a time, the last shorter."""
        for first in range(0, len(self), rows):
            yield first, jax.tree.map(lambda leaf: leaf[first : first + rows], self.bodies)  # noqa: B023

    @staticmethod
    def from_axes(
        center: np.ndarray,
        semi_axes: np.ndarray,
        rotation: np.ndarray | None = None,
        *,
        quaternion_order: str = "wxyz",
        scale: float = 1.0,
        origin: tuple[float, float, float] | None = None,
        on_invalid: str = "raise",
        max_aspect: float = 1e6,
    ) -> "Ellipsoids":
        """Ellipsoids from their radii and orientations.

        Args:
          center: `[N, 3]` world coordinates, float32 or float64.
          semi_axes: `[N, 3]` radii, or `[N]` for balls.
          rotation: quaternions `[N, 4]` of any length but 0, or matrices `[N, 3, 3]` whose columns are the axes of the
            body (a reflection is fine: an ellipsoid is its own mirror image). None: along the axes of the world.
          quaternion_order: "wxyz" or "xyzw".
          scale: factor on `semi_axes`.
          origin: world coordinates near which precision is highest. None: near the centre of the cloud.
          on_invalid: "raise"; "drop": the row becomes a body without extent; "clamp": short axes are raised to the
            longest / max_aspect, and what that does not mend is dropped. Rows keep their numbers.
          max_aspect: longest over shortest axis, at most.

        Raises:
          InvalidEllipsoidError: if rows are invalid and on_invalid is "raise"; it lists how many, why, and which.
          ValueError: for wrong shapes or settings.
        """
        arrays = arguments.axes(center, semi_axes, rotation)
        convert = arguments.of_axes(scale, quaternion_order)
        return _gathered(of_arrays(arrays, convert), on_invalid, max_aspect, origin)

    @staticmethod
    def from_covariance(
        center: np.ndarray,
        covariance: np.ndarray,
        *,
        k: float = 1.0,
        origin: tuple[float, float, float] | None = None,
        on_invalid: str = "raise",
        max_aspect: float = 1e6,
    ) -> "Ellipsoids":
        """The places within `k` standard deviations (Mahalanobis distance) of normal distributions.

        Args:
          center: `[N, 3]` world coordinates, float32 or float64.
          covariance: `[N, 3, 3]`, or `[N, 6]`: xx, xy, xz, yy, yz, zz.
          k: how many standard deviations; semi-axes are k * sqrt(eigenvalue).
          origin, on_invalid, max_aspect: as for `from_axes`.

        Raises:
          InvalidEllipsoidError, ValueError: as for `from_axes`.
        """
        arrays = arguments.covariances(center, covariance)
        return _gathered(of_arrays(arrays, arguments.of_covariance(k)), on_invalid, max_aspect, origin)

    @staticmethod
    def from_spheres(
        center: np.ndarray,
        radius: np.ndarray,
        *,
        scale: float = 1.0,
        origin: tuple[float, float, float] | None = None,
        on_invalid: str = "raise",
    ) -> "Ellipsoids":
        """Balls with world centres `[N, 3]` and radii `[N]`; settings and errors as for `from_axes`."""
        radius = arguments.radii(radius)
        return Ellipsoids.from_axes(center, radius, scale=scale, origin=origin, on_invalid=on_invalid)

    @staticmethod
    def from_3dgs_ply(
        path: str | os.PathLike,
        *,
        k_sigma: float | None = None,
        iso_opacity: float | None = None,
        min_opacity: float = 0.0,
        scale: float = 1.0,
        origin: tuple[float, float, float] | None = None,
        on_invalid: str = "raise",
        max_aspect: float = 1e6,
    ) -> "Ellipsoids":
        """The splats of a file in the layout of 3D Gaussian splatting (Kerbl et al. 2023), as solids.

        The file holds x, y, z, scale_0..2 (logarithms of standard deviations), rot_0..3 (quaternion w, x, y, z) and
        opacity (logit). Exactly one of `k_sigma` and `iso_opacity` says where a splat ends.

        Args:
          path: the file, binary or ASCII.
          k_sigma: semi-axes are so many standard deviations.
          iso_opacity: semi-axes reach to where the splat's opacity has fallen to this; fainter splats are left out.
          min_opacity: splats of a lower opacity are left out: their rows stay, without extent.
          scale: factor on the semi-axes.
          origin, on_invalid, max_aspect: as for `from_axes`.

        Raises:
          InvalidEllipsoidError, ValueError: as for `from_axes`, and for files that are broken or of another kind.
        """
        reading = Reading(scale, k_sigma=k_sigma, iso_opacity=iso_opacity, min_opacity=min_opacity)
        return _gathered(ply.source(path, reading, kind="log_scale"), on_invalid, max_aspect, origin, str(path))


def _gathered(source: Source, on_invalid: str, max_aspect: float, origin: Any, where: str = "") -> Ellipsoids:
    placed, anchor, report = ingest.gather(source, validate.rules(on_invalid, max_aspect), origin, where=where)
    return Ellipsoids(Bodies(*placed), anchor, report)
