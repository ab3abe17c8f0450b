"""One case of the sampling benchmark, in a process of its own: prints what it found as a line of JSON.

python benchmarks/sampling_case.py FILE.npz SIDE CLOUD POINTS [VOXEL]
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.cores import keep_cores  # noqa: E402

if __name__ == "__main__":
    keep_cores(2)

import numpy as np  # noqa: E402

from benchmarks.sampling_cases import JAXKIT, made  # noqa: E402
from ports.ellipsoid_union import clouds  # noqa: E402

WARM = 2**17
SMALL = 2000
TWICE = 10**6
"""Clouds up to this size are sampled twice: the second time nothing compiles."""


def jaxkit_case(path: Path, cloud_name: str, points: int) -> dict[str, Any]:
    """Reads the file and samples; before, a small cloud of the same kind, for which most programs compile."""
    import jax

    from jaxkit.sampling import Ellipsoids, open_cloud, sample_union

    start = time.perf_counter()
    sample_union(jax.random.key(1), Ellipsoids.from_axes(*made(cloud_name, WARM)), count=WARM)
    ready = time.perf_counter()
    cloud = open_cloud(path).to_memory()
    read = time.perf_counter()
    first_s, draw = drawn(cloud, points, 0)
    again_s = drawn(cloud, points, 2)[0] if len(cloud) <= TWICE else first_s
    world, stats, read_s = draw.to_float64(), draw.stats, read - ready
    told = {"method": stats.method, "cover": stats.mean_cover, "acceptance": stats.acceptance}
    times = {"warm_s": ready - start, "read_s": read_s, "first_s": read_s + first_s, "seconds": read_s + again_s}
    return times | told | {"volume": stats.volume, "volume_stderr": stats.volume_stderr, "made": len(world)}


def drawn(cloud: Any, points: int, seed: int) -> tuple[float, Any]:
    """Seconds until the points are world coordinates, and the draw."""
    import jax

    from jaxkit.sampling.union import sample_union

    start = time.perf_counter()
    draw = sample_union(jax.random.key(seed), cloud, count=points)
    draw.to_float64()
    return time.perf_counter() - start, draw


def bit_array_case(path: Path, points: int, voxel: float) -> dict[str, Any]:
    """Reads the file, fills the bit array and draws from it, with all cores."""
    from ports.ellipsoid_union import bit_array

    bit_array.sample(1, *clouds.scattered(SMALL), SMALL, voxel=0.5)
    start = time.perf_counter()
    with np.load(path) as file:
        rows = clouds.Rows(*(file[name] for name in clouds.Rows._fields))
    read = time.perf_counter()
    grid = bit_array.voxelize(*rows, voxel=voxel)
    world = bit_array.draw(0, grid, points)
    done = time.perf_counter()
    return {"read_s": read - start, "seconds": done - start, "bits": grid.bits.numel() * 8, "made": len(world)}


def peak_bytes() -> int:
    """The most memory that this process has had resident."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main(arguments: list[str]) -> None:
    """Measures and prints."""
    path, side, cloud, points = Path(arguments[0]), arguments[1], arguments[2], int(arguments[3])
    if side == JAXKIT:
        found = jaxkit_case(path, cloud, points)
    else:
        found = bit_array_case(path, points, float(arguments[4]))
    print(json.dumps(found | {"peak_bytes": peak_bytes()}))


if __name__ == "__main__":
    main(sys.argv[1:])
