"""What the sampling benchmark found: goals, a table on the terminal, `sampling.md` and `sampling.json`."""

import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.sampling_cases import BIT_ARRAY, JAXKIT, Case, growth

HEAD = ("cloud", "bodies", "points", "s", "read s", "points/s", "peak GB", "mean cover", "method", "volume", "first s")
PEER_HEAD = ("cloud", "bodies", "points", "voxel is", "voxel", "bit array s", "peak GB", "jaxkit s", "x faster")
GROWTH_HEAD = ("cloud", "of", "at", "exponent")
GOAL_HEAD = ("goal", "found", "limit", "reached")
NOTES = (
    "Every case runs in a process of its own, on an uncompressed `.npz` of float32 centres, radii and quaternions. "
    "Seconds are the median over rounds, from opening the file until the points are float64 world coordinates, "
    "validation included, of the second call for up to a million bodies, of the only one for more. `first s` is the "
    "first call, most of it compilation; before it, a small cloud of the same kind was sampled.",
    "",
    "Bodies have log-normal axes (sigma 0.4) and lie independently in a cube; `cover` is how many bodies cover a place "
    "of the union on average. `four decades`: sizes are log-uniform from 1e-4 to 1.",
    "",
    "The bit array is `ports/ellipsoid_union/bit_array.py`: PyTorch on all cores, centre rule. The total volume of "
    "many bodies is right on average whatever the voxel, so the voxel is set by the volume of a single body: wrong by "
    "1 % in the mean over volume. About 9 % of its points then lie outside of every body; jaxkit's lie inside. In the "
    "row of the finer voxel 1 % lie outside; its time is carried over per body to the largest cloud up to a million.",
)


class Row(NamedTuple):
    """A case and what its rounds printed."""

    case: Case
    runs: list[dict]

    @property
    def error(self) -> str:
        """Why it failed, or nothing."""
        return next((run["error"] for run in self.runs if "error" in run), "")

    def middle(self, name: str) -> float:
        """The median over rounds."""
        return statistics.median(run[name] for run in self.runs)

    @property
    def peak(self) -> float:
        """Most memory resident, in GB."""
        return max(run["peak_bytes"] for run in self.runs) / 1e9


class Goal(NamedTuple):
    """A number that was found and the bound that it is to keep."""

    name: str
    value: float
    bound: str
    reached: bool


def line(row: Row) -> str:
    """The row in a few words, for whoever waits."""
    if row.error:
        return f"{row.case.name}: {row.error}"
    return f"{row.case.name}: {row.middle('seconds'):.2f} s, {row.peak:.2f} GB"


def goals(rows: Sequence[Row]) -> list[Goal]:
    """Those of the goals whose cases were measured."""
    good = {
        row.case._replace(voxel=0.0, note=""): row for row in rows if not row.error and "outside" not in row.case.note
    }
    found = [goal for goal in (*_limits(good), *_heavy(good), *_growth(good), *_peer(good)) if goal is not None]
    return found


def _limits(good: dict[Case, Row]) -> list[Goal]:
    found = []
    for bodies, points, most in ((3 * 10**7, 10**7, 60.0), (10**7, 10**6, 12.0)):
        row = good.get(Case(JAXKIT, "cover 1.3", bodies, points))
        if row:
            name = f"{points:.0e} points from {bodies:.0e} bodies, cover 1.3"
            found.append(_at_most(f"seconds: {name}", row.middle("seconds"), most))
            found.append(_at_most(f"peak GB: {name}", row.peak, 6.0))
    return found


def _heavy(good: dict[Case, Row]) -> list[Goal]:
    """What overlap costs, at the largest cloud of both."""
    pairs = {
        case: case._replace(cloud="cover 1.3") for case in good if case.cloud == "cover 30" and case.side == JAXKIT
    }
    both = [case for case, other in pairs.items() if other in good]
    if not both:
        return []
    case = max(both, key=lambda case: (case.bodies, case.points))
    ratio = good[case].middle("seconds") / good[pairs[case]].middle("seconds")
    return [_at_most(f"time at cover 30 over cover 1.3, {case.points:.0e} of {case.bodies:.0e}", ratio, 3.0)]


def _growth(good: dict[Case, Row]) -> list[Goal]:
    exponents = [row for row in _exponents(good) if row[1] == "bodies"]
    return [_at_most(f"growth in bodies, {cloud}, {at}", value, 1.1) for cloud, _, at, value in exponents]


def _peer(good: dict[Case, Row]) -> list[Goal]:
    found = []
    for case, row in good.items():
        own = good.get(case._replace(side=JAXKIT))
        if case.side == BIT_ARRAY and case.bodies == 10**6 and case.cloud == "cover 1.3" and own:
            value = row.middle("seconds") / own.middle("seconds")
            name = f"times faster than the bit array, {case.points:.0e} points from 1e6 bodies"
            found.append(Goal(name, value, ">= 20", value >= 20))
    return found


def _at_most(name: str, value: float, most: float) -> Goal:
    return Goal(name, value, f"<= {most:g}", value <= most)


def _exponents(good: dict[Case, Row]) -> list[tuple[str, str, str, float]]:
    """`(cloud, what grows, what stays, exponent)`."""
    own = [case for case in good if case.side == JAXKIT]
    found: list[tuple[str, str, str, float]] = []
    for cloud in dict.fromkeys(case.cloud for case in own):
        here = [case for case in own if case.cloud == cloud]
        found += _along(good, here, cloud, "bodies", "points")
        found += _along(good, here, cloud, "points", "bodies")
    return found


def _along(good: dict[Case, Row], here: list[Case], cloud: str, moving: str, still: str) -> list:
    found = []
    for value in sorted({getattr(case, still) for case in here}):
        line = sorted((case for case in here if getattr(case, still) == value), key=lambda case: getattr(case, moving))
        exponent = growth([getattr(case, moving) for case in line], [good[case].middle("seconds") for case in line])
        if exponent is not None:
            found.append((cloud, moving, f"{value:.0e} {still}", exponent))
    return found


def own_cells(row: Row) -> tuple[str, ...]:
    case = row.case
    start = (case.cloud, f"{case.bodies:.0e}", f"{case.points:.0e}")
    if row.error:
        return (*start, "failed", *[""] * 6, row.error[:80])
    seconds, run = row.middle("seconds"), row.runs[-1]
    spread = sorted(one["seconds"] for one in row.runs)
    times = f"{seconds:.2f}" + (f" ({spread[0]:.2f}-{spread[-1]:.2f})" if len(spread) > 1 else "")
    volume = f"{run['volume']:.5g} +- {run['volume_stderr'] / run['volume']:.2%}"
    made = (f"{row.middle('read_s'):.2f}", f"{case.points / seconds:.2g}", f"{row.peak:.2f}")
    return (*start, times, *made, f"{run['cover']:.3g}", run["method"], volume, f"{row.middle('first_s'):.2f}")


def peer_cells(row: Row, rows: Sequence[Row]) -> tuple[str, ...]:
    case = row.case
    start = (case.cloud, f"{case.bodies:.0e}", f"{case.points:.0e}", case.note, f"{case.voxel:.3g}")
    if row.error:
        return (*start, "failed", "", "", row.error[:80])
    seconds, other = row.middle("seconds"), own_beside(case, rows)
    if other is None:
        return (*start, f"{seconds:.2f}", f"{row.peak:.2f}", "", "")
    scale = other.case.bodies / case.bodies
    ratio = f"{scale * seconds / other.middle('seconds'):.1f}"
    told = "" if scale == 1 else f" (of {other.case.bodies:.0e} bodies)"
    ratio = ratio if scale == 1 else f"{ratio}, extrapolated"
    return (*start, f"{seconds:.2f}", f"{row.peak:.2f}", f"{other.middle('seconds'):.2f}{told}", ratio)


def own_beside(case: Case, rows: Sequence[Row]) -> Row | None:
    """jaxkit on the same cloud; for a fine voxel on the largest one up to a million bodies."""
    own = [row for row in rows if row.case.side == JAXKIT and not row.error and row.case.cloud == case.cloud]
    own = [row for row in own if row.case.points == case.points]
    same = [row for row in own if row.case.bodies == case.bodies]
    return max(same or [r for r in own if r.case.bodies <= 10**6], key=lambda row: row.case.bodies, default=None)


def tables(rows: Sequence[Row], goals: Sequence[Goal]) -> dict[str, tuple[Sequence[str], list]]:
    """Title to head and body of each table that has rows."""
    good = {row.case: row for row in rows if not row.error}
    kind: Callable[[str], list[Row]] = lambda side: [row for row in rows if row.case.side == side]  # noqa: E731
    found = {
        "Goals": (GOAL_HEAD, [(g.name, f"{g.value:.3g}", g.bound, "yes" if g.reached else "NO") for g in goals]),
        "jaxkit": (HEAD, [own_cells(row) for row in kind(JAXKIT)]),
        "Growth": (GROWTH_HEAD, [(*row[:3], f"{row[3]:.2f}") for row in _exponents(good)]),
        "Against the bit array": (PEER_HEAD, [peer_cells(row, rows) for row in kind(BIT_ARRAY)]),
    }
    return {title: table for title, table in found.items() if table[1]}


def show(console: Console, rows: Sequence[Row], goals: Sequence[Goal]) -> None:
    for title, (head, body) in tables(rows, goals).items():
        table = Table(*head, title=title, width=max(console.width, 130))
        for cells in body:
            table.add_row(*cells, style="red" if "NO" in cells or "failed" in cells else None)
        console.print(table, soft_wrap=True)


def markdown(rows: Sequence[Row], goals: Sequence[Goal], about: dict[str, Any]) -> str:
    lines = ["# Uniform points from unions of ellipsoids", ""]
    lines += [f"- {name}: {value}" for name, value in about.items()]
    lines += ["", *NOTES, ""]
    for title, (head, body) in tables(rows, goals).items():
        lines += [f"## {title}", "", *(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body)), ""]
    return "\n".join(lines)


def write(folder: Path, rows: Sequence[Row], goals: Sequence[Goal], about: dict[str, Any]) -> list[Path]:
    """Writes `sampling.json` and `sampling.md`."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = [row.case._asdict() | {"runs": row.runs} for row in rows]
    found = {"about": about, "goals": [goal._asdict() for goal in goals], "rows": kept}
    contents = {"sampling.json": json.dumps(found, indent=1) + "\n", "sampling.md": markdown(rows, goals, about)}
    for name, text in contents.items():
        (folder / name).write_text(text)
    return [folder / name for name in contents]
