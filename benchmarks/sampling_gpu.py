"""Union sampling on an accelerator, in one go: the same points as the CPU's, and seconds beside the device's limits.

    python benchmarks/sampling_gpu.py [--small] [--output FILE]

Runs on a machine with the CPU alone too, where it compares the CPU with itself: a test of this script.

What to expect of an H200 (4.8 TB/s, about 17e12 integer operations a second), from counted bytes and operations: 3e7
bodies of 52 bytes are read three times (the sum of volumes, drop and join; a pilot every 17th), 4.7 GB or 1 ms; they
come from the host at about 50 GB/s each time, 0.1 s in all; 1.3e7 points take 270 integer operations to draw and some
25 tests of 26 operations each, 12e9 operations or 1 ms. All the rest is the host's: sorting points into cells, and
choosing those that stay.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import jax  # noqa: E402
import numpy as np  # noqa: E402

from benchmarks.devices import bandwidth  # noqa: E402
from benchmarks.sampling_cases import made  # noqa: E402
from jaxkit.sampling import Ellipsoids, sample_union  # noqa: E402

BODY_BYTES, PASSES = 52, 3
NEAR = 1e-5


class Size(NamedTuple):
    """A cloud and what is drawn from it; `compared`: whether the CPU draws too."""

    cloud: str
    bodies: int
    points: int
    compared: bool = False


SIZES = (
    Size("cover 1.3", 10**5, 10**5, True),
    Size("cover 30", 10**5, 10**5, True),
    Size("four decades", 10**5, 10**5, True),
    Size("cover 1.3", 10**7, 10**6),
    Size("cover 1.3", 3 * 10**7, 10**7),
    Size("cover 30", 10**7, 10**7),
)
SMALL = tuple(size._replace(bodies=2000, points=2000) for size in SIZES[:3])


class Found(NamedTuple):
    """One cloud on the accelerator.

    Attributes:
      first_s, seconds: the first draw, which compiles, and the next; the cloud lies in the host's memory.
      least_s: what reading the bodies takes at the bandwidth that was measured.
      owners_apart: share of points whose owner differs from the CPU's; 0 where nothing was compared.
      farthest: distance of points from the CPU's, in cells of the cloud, see `difference`.
    """

    cloud: str
    bodies: int
    points: int
    first_s: float
    seconds: float
    points_per_second: float
    least_s: float
    owners_apart: float
    farthest: float
    passed: bool


def check(size: Size, device: Any, reference: Any, bandwidth: float) -> Found:
    """Draws twice with different keys, and once more on the CPU if the two are compared."""
    cloud = Ellipsoids.from_axes(*made(size.cloud, size.bodies))
    key = jax.random.key(0)
    with jax.default_device(device):
        first_s, _ = timed(jax.random.key(1), cloud, size.points)
        seconds, draw = timed(key, cloud, size.points)
    apart, farthest = (0.0, 0.0)
    if size.compared:
        with jax.default_device(reference):
            apart, farthest = difference(draw, timed(key, cloud, size.points)[1], cloud.anchor.step)
    least = PASSES * BODY_BYTES * size.bodies / bandwidth
    passed = len(draw) == size.points and apart <= 1e-3 and farthest <= NEAR
    return Found(*size[:3], first_s, seconds, size.points / seconds, least, apart, farthest, bool(passed))


def timed(key: Any, cloud: Ellipsoids, points: int) -> tuple[float, Any]:
    start = time.perf_counter()
    draw = sample_union(key, cloud, count=points)
    return time.perf_counter() - start, draw


def difference(draw: Any, expected: Any, step: float) -> tuple[float, float]:
    """The share of points that bodies have in one draw only, and how far apart the points of the other bodies are.

    A point near a surface may change sides by rounding. Distances are in cells, the largest of all but one in a
    thousand, since points of one body are paired in the order of x.
    """
    bodies = max(draw.source.max(), expected.source.max()) + 1
    own, other = (np.bincount(one.source, minlength=bodies) for one in (draw, expected))
    apart = np.abs(own - other).sum() / (2 * len(draw))
    places = []
    for one in (draw, expected):
        world, kept = one.to_float64(), (own == other)[one.source]
        places.append(world[kept][np.lexsort((world[kept, 0], one.source[kept]))])
    gaps = np.abs(places[0] - places[1]).max(1) / step
    return float(apart), float(np.quantile(gaps, 0.999)) if len(gaps) else 0.0


def main() -> int:
    """Checks everything; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="2000 bodies")
    parser.add_argument("--output", type=Path, help="JSON file for the results")
    given = parser.parse_args()
    device, reference = jax.devices()[0], jax.local_devices(backend="cpu")[0]
    rate = bandwidth(device)
    about = {"device": device.device_kind, "jax": jax.__version__, "bandwidth_gb_s": rate / 1e9}
    print(json.dumps(about), flush=True)
    found = []
    for size in SMALL if given.small else SIZES:
        found.append(check(size, device, reference, rate))
        print(json.dumps(found[-1]._asdict()), flush=True)
        if given.output:
            rows = [row._asdict() for row in found]
            given.output.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    return 0 if all(row.passed for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
