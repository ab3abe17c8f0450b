"""Points from a cloud of ellipsoids in a file, into a file."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxkit.jobs.plot import plot_points
from jaxkit.sampling.draw import Stats
from jaxkit.sampling.ellipsoids import Cloud
from jaxkit.sampling.files import FORMATS, CloudFile, open_cloud
from jaxkit.sampling.report import Report
from jaxkit.sampling.write import WRITERS, write_points

Listen = Callable[[str, int, int], None]
MEMORY = 4 * 10**9
ROW_BYTES = 52
VOLUME_ERROR = 1e-3
RULES = ("raise", "drop", "clamp")


@dataclass(frozen=True)
class SampleJob:
    """What is asked for.

    Args:
      cloud: `.npz`, `.ply` or `.csv`, see `jaxkit.sampling.open_cloud`.
      out: `.npy`, `.npz`, `.ply` or `.csv`, see `jaxkit.sampling.write_points`.
      count: how many points; None with `radius`, which makes as many as fit.
      on_invalid: what is done about rows that are no ellipsoids: "raise", "drop" or "clamp".
      seed: another seed gives other points.
      method: "auto", or a method of `jaxkit.sampling.sample_union`.
      memory: bytes to work in. A cloud that takes more than half of them stays in its file.
      volume: also find the volume of the union to 0.1 %.
      stratified, surface: kinds of points, see `sample_union` and `sample_surface`.
      radius: least distance of points, see `poisson_disk`.
      plot: a `.png` to draw the points into.

    Raises:
      ValueError: for what cannot be done, or not together.
    """

    cloud: Path
    out: Path
    count: int | None = None
    on_invalid: str = "raise"
    seed: int = 0
    method: str = "auto"
    memory: int = MEMORY
    volume: bool = False
    stratified: bool = False
    surface: bool = False
    radius: float | None = None
    plot: Path | None = None

    def __post_init__(self) -> None:
        _check_suffix("the cloud", self.cloud, FORMATS)
        _check_suffix("the file of points", self.out, WRITERS)
        if self.plot is not None:
            _check_suffix("the plot", self.plot, (".png",))
        if (self.count is None) == (self.radius is None):
            raise ValueError("give either a count of points or a radius, which makes as many points as fit")
        if self.on_invalid not in RULES:
            raise ValueError(f"on_invalid is one of {', '.join(RULES)}, not {self.on_invalid!r}")
        special = [name for name in ("stratified", "surface", "radius") if getattr(self, name)]
        if self.surface and self.method != "auto":
            special.append(f"method={self.method}")
        if len(special) > 1:
            raise ValueError(f"{' and '.join(special)} cannot be had together")


class Outcome(NamedTuple):
    """What came of it.

    Attributes:
      points: world coordinates `[n, 3]` float64.
      source: `[n]` int32, rows of the bodies that the points belong to; None where that is not known.
      normal: `[n, 3]` float32 of points on a surface, else None.
      facts: name and value of everything worth telling, in order.
    """

    points: np.ndarray
    source: np.ndarray | None
    normal: np.ndarray | None
    facts: tuple[tuple[str, str], ...]


def sample(job: SampleJob, listen: Listen | None = None) -> Outcome:
    """Reads, samples, writes.

    Args:
      listen: told `(stage, done, total)`.

    Raises:
      InvalidEllipsoidError: if rows are invalid and on_invalid is "raise".
      LowAcceptanceError: if the count cannot be reached.
      ValueError, OSError: if a file cannot be read or written.
    """
    tell = listen or (lambda stage, done, total: None)
    for path in filter(None, (job.out, job.plot)):
        if not path.parent.is_dir():
            raise ValueError(f"{path} cannot be written: {path.parent} is not a folder")
    start = time.perf_counter()
    tell("reading", 0, 1)
    file = open_cloud(job.cloud, on_invalid=job.on_invalid)
    cloud = file.to_memory() if len(file) * ROW_BYTES <= job.memory / 2 else file
    key = jax.random.key(job.seed)
    draw = _draw(key, cloud, job, tell)
    found = _volume(key, cloud, tell) if job.volume else ()
    points, seconds = draw.to_float64(), time.perf_counter() - start
    facts = (*_input(file, cloud), *_told(draw), *found, ("points", f"{len(points):,}"), ("seconds", f"{seconds:.1f}"))
    outcome = Outcome(points, getattr(draw, "source", None), getattr(draw, "normal", None), facts)
    tell("writing", 0, 1)
    _write(job, outcome)
    return outcome


def _draw(key: jax.Array, cloud: Cloud, job: SampleJob, tell: Listen) -> Any:
    if job.surface:
        from jaxkit.sampling.surface import sample_surface

        tell("surface", 0, 1)
        return sample_surface(jax.random.fold_in(key, 1), cloud, count=job.count)
    if job.radius is not None:
        from jaxkit.sampling.spacing import poisson_disk

        tell("spacing", 0, 1)
        return poisson_disk(jax.random.fold_in(key, 2), cloud, radius=job.radius, method=job.method)
    from jaxkit.sampling.union import sample_union

    settings = {"method": job.method, "stratified": job.stratified, "budget_bytes": job.memory, "progress": tell}
    return sample_union(jax.random.fold_in(key, 0), cloud, count=job.count, **settings)


def _volume(key: jax.Array, cloud: Cloud, tell: Listen) -> tuple[tuple[str, str], ...]:
    from jaxkit.sampling.volume import union_volume

    found = union_volume(jax.random.fold_in(key, 3), cloud, rel_err=VOLUME_ERROR, progress=tell)
    return (("volume to 0.1 %", _measured(found.value, found.stderr)),)


def _input(file: CloudFile, cloud: Cloud) -> Iterator[tuple[str, str]]:
    yield "ellipsoids", f"{len(file):,}, read {'into memory' if cloud is not file else 'block by block'}"
    yield from _rejected(file.report)


def _rejected(report: Report) -> Iterator[tuple[str, str]]:
    for reason, (count, first) in report.invalid.items():
        rows = ", ".join(map(str, first[:5])) + (", ..." if count > 5 else "")
        yield f"invalid: {reason}", f"{count:,} (row{'s' if count > 1 else ''} {rows})"
    for name in ("dropped", "clamped", "faint"):
        if getattr(report, name):
            yield name, f"{getattr(report, name):,}"


def _told(draw: Any) -> Iterator[tuple[str, str]]:
    """What a draw says of the union."""
    stats = getattr(draw, "stats", None)
    if isinstance(stats, Stats) and stats.proposals:
        yield "volume", _measured(stats.volume, stats.volume_stderr)
        yield "bounds of the volume", f"{stats.volume_low:.6g} to {stats.volume_high:.6g}"
        yield "mean cover", f"{stats.mean_cover:.3g}"
        yield "method", stats.method
        yield "acceptance", f"{stats.acceptance:.1%} of {stats.proposals:,} proposals"
    if hasattr(draw, "area"):
        yield "exposed area", _measured(draw.area, draw.area_stderr)
        yield "acceptance", f"{draw.accepted / max(draw.proposals, 1):.1%} of {draw.proposals:,} proposals"
    if hasattr(draw, "uncovered"):
        yield "left free", f"at most {draw.uncovered:.2%} of the union, of {draw.candidates:,} candidates"


def _measured(value: float, error: float) -> str:
    share = f" ({error / value:.2%})" if value else ""
    return f"{value:.6g} +- {error:.2g}{share}"


def _write(job: SampleJob, outcome: Outcome) -> None:
    """Normals go into `.npz` files only, the number of the body into all but `.npy`."""
    if outcome.normal is not None and job.out.suffix.lower() == ".npz":
        np.savez(job.out, points=outcome.points, source=outcome.source, normal=outcome.normal)
    else:
        write_points(job.out, outcome.points, source=None if job.out.suffix.lower() == ".npy" else outcome.source)
    if job.plot is not None:
        plot_points(outcome.points, job.plot, title=job.cloud.name)


def _check_suffix(what: str, path: Path, known: Any) -> None:
    if path.suffix.lower() not in known:
        raise ValueError(f"{what} must end in {', '.join(known)}: {path}")
