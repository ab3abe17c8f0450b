"""Named clouds whose unions have known volumes and shares, and random ones of a given mean cover."""

import dataclasses
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from jaxkit.sampling.ellipsoids import Ellipsoids
from tests.reference.union import Solids

BALL = 4 / 3 * math.pi
UTM = (500_123.25, 4_649_776.75, 312.5)


class Shapes(NamedTuple):
    """World centres `[N, 3]` float64, radii `[N, 3]` float64, unit quaternions `[N, 4]` (w, x, y, z)."""

    center: np.ndarray
    semi_axes: np.ndarray
    quaternion: np.ndarray

    def cloud(self) -> Ellipsoids:
        return Ellipsoids.from_axes(self.center, self.semi_axes, self.quaternion)

    def solids(self) -> Solids:
        matrix = Rotation.from_quat(self.quaternion, scalar_first=True).as_matrix()
        return Solids(np.asarray(self.center, np.float64), np.asarray(self.semi_axes, np.float64), matrix)

    def volumes(self) -> np.ndarray:
        return BALL * np.prod(self.semi_axes, 1)


def balls(center, radius) -> Shapes:
    center = np.asarray(center, np.float64)
    axes = np.broadcast_to(np.asarray(radius, np.float64).reshape(-1, 1), center.shape).copy()
    return Shapes(center, axes, np.tile([1.0, 0, 0, 0], (len(center), 1)))


def mapped_balls(center, radius: float, matrix, shift=(0, 0, 0)) -> Shapes:
    """Equal balls under the affine map `matrix @ x + shift`: a map stretches all of them alike."""
    turn, stretch, _ = np.linalg.svd(np.asarray(matrix, np.float64))
    turn[:, 2] *= np.linalg.det(turn)
    quaternion = Rotation.from_matrix(turn).as_quat(scalar_first=True)
    center = np.asarray(center, np.float64) @ np.asarray(matrix).T + np.asarray(shift)
    return Shapes(center, np.tile(radius * stretch, (len(center), 1)), np.tile(quaternion, (len(center), 1)))


LENS_CENTERS = np.array([[0.0, 0, 0], [1.0, 0, 0]])
LENS_VOLUME = 9 * math.pi / 4
LENS_SHARES = {"both": 5 / 27, "first": 11 / 27, "second": 11 / 27}


def lens(matrix=None, shift=(0, 0, 0)) -> Shapes:
    """Two unit balls at distance 1 under an affine map. Volume 9 pi / 4 |det|; lens 5/27, crescents 11/27 each."""
    return mapped_balls(LENS_CENTERS, 1.0, np.eye(3) if matrix is None else matrix, shift)


def lens_regions(points, matrix=None, shift=(0, 0, 0)) -> dict[str, int]:
    """How many world points fall into the lens and into each crescent; they may miss all by rounding."""
    plain = (points - np.asarray(shift)) @ np.linalg.inv(np.eye(3) if matrix is None else matrix).T
    first, second = (((plain - center) ** 2).sum(1) <= 1 for center in LENS_CENTERS)
    regions = {"both": first & second, "first": first & ~second, "second": second & ~first}
    return {name: int(region.sum()) for name, region in regions.items()}


def utm_lens() -> Shapes:
    """The lens with radii of 5 cm at map coordinates in metres, where float32 has steps of 50 cm."""
    return lens(0.05 * np.eye(3), UTM)


def nested() -> Shapes:
    """A unit ball and one of half its radius inside, off centre: one eighth of the points lie in the inner."""
    return balls([[0, 0, 0], [0.3, 0.2, -0.1]], [1.0, 0.5])


def identical_balls(copies: int = 10_000) -> Shapes:
    """Copies of one unit ball, and one more apart from them: half of the points each."""
    center = np.zeros((copies + 1, 3))
    center[copies, 1] = 5.0
    return balls(center, 1.0)


FLAKE_AXES = (10.0, 10.0, 1e-3)
FLAKE_OUTSIDE = 0.1 * (1 - 0.01) ** 1.5
FLAKE_SHARES = {"outside": FLAKE_OUTSIDE / (1 + FLAKE_OUTSIDE), "both": (0.1 - FLAKE_OUTSIDE) / (1 + FLAKE_OUTSIDE)}
FLAKE_TURN = Rotation.from_rotvec([0.4, -0.9, 0.3])


def flake_through_ball() -> Shapes:
    """A unit ball with a flake of aspect 10^4 through its middle, turned.

    A flake of radii (10, 10, h) has a tenth of the ball's volume times h / 10^-3; the part of an ellipsoid within a
    tenth of its equator's radius of the axis is 1 - (1 - 0.01)^1.5 of it, so that is what the two share, to 10^-6.
    """
    turned = FLAKE_TURN.as_quat(scalar_first=True)
    return Shapes(np.zeros((2, 3)), np.array([[1.0, 1, 1], FLAKE_AXES]), np.array([[1.0, 0, 0, 0], turned]))


def ball_and_many(side: int = 100) -> Shapes:
    """One ball and `side`^3 small ones, all apart, of the same total volume: half of the points each."""
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3).astype(np.float64)
    center = np.concatenate([[[-0.45 * side - 1.0, side / 2, side / 2]], grid])
    return balls(center, np.r_[0.4 * side, np.full(side**3, 0.4)])


KINDS = {"blobs": (1.0, 1.0), "flakes": (1.0, 0.04), "needles": (0.025, 0.025)}


def random_cloud(rng: np.random.Generator, count: int, cover: float = 1.3, kind: str = "blobs") -> Shapes:
    """Turned ellipsoids with log-normal radii in a box that gives about this mean cover.

    Kinds: "blobs", "flakes" (25 : 1), "needles" (40 : 1), and "decades" (blobs with sizes over two decades).
    Uniform centres make a Boolean model: with the bodies' total volume at `rho` times the box, `1 - exp(-rho)` of the
    box is covered, so the mean cover is `rho / (1 - exp(-rho))` but for the margin.
    """
    size = 10.0 ** rng.uniform(-1, 1, (count, 1)) if kind == "decades" else 1.0
    axes = np.exp(rng.normal(0, 0.3, (count, 3))) * size
    axes[:, 1:] *= KINDS.get(kind, (1.0, 1.0))
    quaternion = rng.normal(size=(count, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    rho = brentq(lambda rho: rho / -math.expm1(-rho) - cover, 1e-9, 2 * cover + 1)
    edge = (BALL * np.prod(axes, 1).sum() / rho) ** (1 / 3)
    return Shapes(rng.uniform(0, edge, (count, 3)), axes, quaternion)


@dataclasses.dataclass
class Reordered:
    """A cloud whose chunks come last first and are arrays of JAX."""

    cloud: Ellipsoids

    anchor = property(lambda self: self.cloud.anchor)

    def __len__(self):
        return len(self.cloud)

    def chunks(self, rows):
        for first, bodies in reversed(list(self.cloud.chunks(rows))):
            yield first, jax.tree.map(jnp.asarray, bodies)
