"""The tables on the terminal, `networks.md` and `networks.json`, all from the same rows."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.network_measure import FAST_TITLE, FLOAT_TITLE, SAME, STOCK_TITLE, Row
from benchmarks.network_methods import DEFAULT, JAXKIT, Quality
from benchmarks.network_process import NOT_INSTALLED
from benchmarks.timing import Ratio, Spread

WIDTH = 130
NETWORK_HEAD = ("side", "threads", "batch", "ms a batch", "ms a picture", "x stock Flax")
METHOD_HEAD = (
    "library", "settings", "runtime", "top-1 as float", "SQNR dB", "MB", "of float", "as simulated", "ms",
)  # fmt: skip
LAYER_HEAD = ("layer", "threads", "lax ms", "jaxkit ms", "torch ms", "torch, channels last ms", "x lax", "same result")
GOAL_HEAD = ("what", "found", "goal", "reached")


class Goal(NamedTuple):
    """What is to be reached: at least, or at most, so much."""

    name: str
    value: float
    limit: float
    least: bool

    @property
    def reached(self) -> bool:
        return self.value >= self.limit if self.least else self.value <= self.limit


class Found(NamedTuple):
    """All that was measured."""

    networks: Sequence[Row]
    layers: Sequence[Row]
    methods: Sequence[Quality]


def goals(found: Found) -> list[Goal]:
    """Of speed on two threads, for one picture; of what jaxkit's integers are worth. What is missing is not reached."""
    made = []
    for row in found.networks:
        if (row.threads, row.batch) == (2, 1):
            made += speed_goals(row)
    for method in found.methods:
        if (method.name, method.how) == (JAXKIT, DEFAULT) and method.runtime != "OpenVINO":
            made += method_goals(method)
    return made


def method_goals(method: Quality) -> list[Goal]:
    where = f"int8 in {method.runtime}"
    size = Goal(f"{where}, size as a share of float", method.share or math.inf, 0.27, False)
    return [
        Goal(f"{where}, top-1 as float", method.top1, 0.88, True),
        Goal(f"{where}, share of logits as simulated", method.exact or 0.0, 1.0, True),
        *([size] if method.runtime == "ONNX Runtime" else []),
    ]


def speed_goals(row: Row) -> list[Goal]:
    times = {name: value.median for name, value in row.times.items()}
    stock, fast, runtime = (times.get(name, math.nan) for name in (STOCK_TITLE, FAST_TITLE, FLOAT_TITLE))
    integers = times.get("ONNX Runtime int8", math.nan)
    return [
        Goal("jaxkit in JAX, times faster than stock Flax", stock / fast, 6.0, True),
        Goal("jaxkit in JAX, time as a multiple of ONNX Runtime's in float", fast / runtime, 1.4, False),
        Goal("int8 in ONNX Runtime, times faster than stock Flax", stock / integers, 12.0, True),
    ]


def network_cells(row: Row) -> list[tuple[str, ...]]:
    lines = []
    for side, value in row.times.items():
        ratio = ratio_cell(row.ratios[side]) if side in row.ratios else ""
        lines.append((side, str(row.threads), str(row.batch), cell(value), f"{value.median / row.batch:.2f}", ratio))
    return lines + [(side, str(row.threads), str(row.batch), short(why), "", "") for side, why in row.missing.items()]


def layer_cells(row: Row) -> tuple[str, ...]:
    sides = ("lax", "jaxkit", "torch", "torch, channels last")
    times = [cell(row.times[side]) if side in row.times else short(row.missing[side]) for side in sides]
    ratio = ratio_cell(row.ratios["jaxkit"]) if "jaxkit" in row.ratios else ""
    return row.case, str(row.threads), *times, ratio, "yes" if row.apart <= SAME else f"NO: {row.apart:.2g} apart"


def method_cells(method: Quality) -> tuple[str, ...]:
    if method.error:
        return method.name, method.how, method.runtime, short(method.error), *[""] * (len(METHOD_HEAD) - 4)
    decibels = "" if math.isinf(method.decibels) else f"{method.decibels:.1f}"
    exact = "" if method.exact is None else f"{100 * method.exact:.6g} %"
    share, size = f"{method.share:.3f}", f"{method.bytes / 1e6:.2f}"
    time = cell(method.ms) if method.ms else ""
    return method.name, method.how, method.runtime, f"{method.top1:.3f}", decibels, size, share, exact, time


def reasons(found: Found) -> list[tuple[str, ...]]:
    """What has no numbers, and why, each once."""
    lines = {(method.name, f"{method.how}, {method.runtime}", method.error) for method in found.methods if method.error}
    for row in (*found.networks, *found.layers):
        lines |= {(side, row.case, why) for side, why in row.missing.items()}
    return sorted(lines)


def short(why: str) -> str:
    return NOT_INSTALLED if why.startswith(NOT_INSTALLED) else "failed"


def goal_cells(goal: Goal) -> tuple[str, ...]:
    bound = f"{'at least' if goal.least else 'at most'} {goal.limit:g}"
    return goal.name, f"{goal.value:.4g}", bound, "yes" if goal.reached else "NO"


def cell(value: Spread) -> str:
    digits = 1 if value.median >= 10 else 2 if value.median >= 1 else 3
    return f"{value.median:.{digits}f} ({value.low:.{digits}f}-{value.high:.{digits}f})"


def ratio_cell(value: Ratio) -> str:
    return f"{value.value:.2f} ({value.low:.2f}-{value.high:.2f})"


def tables(found: Found) -> dict[str, tuple[Sequence[str], list]]:
    """Title to head and body of each table that has rows."""
    latency = [line for row in found.networks for line in network_cells(row)]
    made = {
        "Goals": (GOAL_HEAD, [goal_cells(goal) for goal in goals(found)]),
        "Latency of EfficientNet-Lite0": (NETWORK_HEAD, latency),
        "From float to integers": (METHOD_HEAD, [method_cells(method) for method in found.methods]),
        "Depthwise layers": (LAYER_HEAD, [layer_cells(row) for row in found.layers]),
        "Not measured": (("side", "of what", "why"), reasons(found)),
    }
    return {title: table for title, table in made.items() if table[1]}


def show(console: Console, found: Found) -> None:
    """Prints the tables, without the spreads."""
    for title, (head, body) in tables(found).items():
        table = Table(*head, title=title, width=max(console.width, WIDTH))
        for cells in body:
            wrong = any(text.startswith("NO") for text in cells)
            kept = cells if title == "Not measured" else (text.split(" (")[0] for text in cells)
            table.add_row(*kept, style="red" if wrong else None)
        console.print(table, soft_wrap=True)


def markdown(found: Found, about: dict[str, Any], notes: Sequence[str]) -> str:
    """One page: what was measured and how, and the tables."""
    lines = ["# Networks: JAX, runtimes and quantizers", ""]
    lines += [*(f"- {name}: {value}" for name, value in about.items()), "", *notes, ""]
    for title, (head, body) in tables(found).items():
        lines += [f"## {title}", "", *(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body)), ""]
    return "\n".join(lines)


def plain(value: Any) -> Any:
    """Records as dicts, numbers that JSON lacks as None."""
    if hasattr(value, "_asdict"):
        return {name: plain(part) for name, part in value._asdict().items()}
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write(folder: Path, found: Found, about: dict[str, Any], notes: Sequence[str]) -> list[Path]:
    """Writes `networks.json` and `networks.md`."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {"about": about, "goals": goals(found), **found._asdict()}
    contents = {
        "networks.json": json.dumps(plain(values), indent=1) + "\n",
        "networks.md": markdown(found, about, notes),
    }
    for name, text in contents.items():
        (folder / name).write_text(text)
    return [folder / name for name in contents]
