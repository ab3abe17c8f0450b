"""The table on the terminal, `image.md` and `image.json`, all from the same rows."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.limits import Limit
from benchmarks.measure import ALBUMENTATIONS, JAXKIT, OPENCV, Row
from benchmarks.pictures import SIZES

OPS_HEAD = (
    "op", "batch", "jaxkit ms", "OpenCV ms", "AlbumentationsX ms", "x OpenCV", "x AlbumentationsX", "goal", "reached",
    "same result", "compile s",
)  # fmt: skip
CHAINS_HEAD = ("chain", "batch", "peer", "ms", "jaxkit ms", "x jaxkit is faster", "goal", "reached")
WIDTH = 130
LIMITS_HEAD = ("what", "found", "limit", "reached")


def op_cells(row: Row) -> tuple[str, ...]:
    goal = next((goal for goal in row.goals if goal.peer == OPENCV), None)
    return (
        row.op,
        row.size,
        *(time_cell(row, peer) for peer in (JAXKIT, OPENCV, ALBUMENTATIONS)),
        *(ratio_cell(row, peer) for peer in (OPENCV, ALBUMENTATIONS)),
        f"{goal.least:g}" if goal else "",
        yes(goal.reached) if goal else "",
        agreement_cell(row.largest_difference),
        f"{row.compile_seconds:.1f}",
    )


def chain_cells(row: Row) -> list[tuple[str, ...]]:
    goals = {goal.peer: goal for goal in row.goals}
    return [
        (
            row.op,
            row.size,
            peer,
            time_cell(row, peer),
            time_cell(row, JAXKIT),
            ratio_cell(row, peer),
            f"{goals[peer].least:g}" if peer in goals else "",
            yes(goals[peer].reached) if peer in goals else "",
        )
        for peer in row.ratios
    ]


def limit_cells(limit: Limit) -> tuple[str, ...]:
    return limit.name, f"{limit.value:.3g} {limit.unit}".strip(), limit.bound, yes(limit.reached)


def yes(reached: bool) -> str:
    return "yes" if reached else "NO"


def agreement_cell(difference: float | None) -> str:
    if difference is None:
        return "not the same"
    return f"within {difference:.2g}" if difference <= 1 else f"NO: {difference:.3g} apart"


def time_cell(row: Row, peer: str) -> str:
    if peer not in row.times:
        return ""
    median, low, high = row.times[peer]
    return f"{median:.1f} ({low:.1f}-{high:.1f})"


def ratio_cell(row: Row, peer: str) -> str:
    if peer not in row.ratios:
        return ""
    value, low, high = row.ratios[peer]
    return f"{value:.2f} ({low:.2f}-{high:.2f})"


def tables(rows: Sequence[Row], limits: Sequence[Limit]) -> dict[str, tuple[Sequence[str], list]]:
    """Title to head and body of each table that has rows."""
    chains = [row for row in rows if len(row.ratios) > 2]
    found = {
        "Ops": (OPS_HEAD, [op_cells(row) for row in rows]),
        "Chains": (CHAINS_HEAD, [cells for row in chains for cells in chain_cells(row)]),
        "Limits": (LIMITS_HEAD, [limit_cells(limit) for limit in limits]),
    }
    return {title: table for title, table in found.items() if table[1]}


def show(console: Console, rows: Sequence[Row], limits: Sequence[Limit]) -> None:
    """Prints the tables, without the spreads."""
    for title, (head, body) in tables(rows, limits).items():
        table = Table(*head, title=title, width=max(console.width, WIDTH))
        for cells in body:
            table.add_row(*(cell.split(" (")[0] for cell in cells), style="red" if "NO" in cells else None)
        console.print(table, soft_wrap=True)


def markdown(rows: Sequence[Row], limits: Sequence[Limit], about: dict[str, Any], notes: Sequence[str]) -> str:
    """One page: what was measured and how, and the tables."""
    lines = ["# Image ops against OpenCV and AlbumentationsX", ""]
    lines += [f"- {name}: {value}" for name, value in about.items()]
    lines += ["- batches: " + "; ".join(f"`{name}` {size}" for name, size in SIZES.items()), "", *notes, ""]
    for title, (head, body) in tables(rows, limits).items():
        lines += [f"## {title}", "", *(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body)), ""]
    return "\n".join(lines)


def as_dict(rows: Sequence[Row], limits: Sequence[Limit], about: dict[str, Any]) -> dict[str, Any]:
    return {
        "about": about,
        "rows": [
            row._asdict()
            | {"times": {peer: value._asdict() for peer, value in row.times.items()}}
            | {"ratios": {peer: value._asdict() for peer, value in row.ratios.items()}}
            | {"goals": [goal._asdict() for goal in row.goals]}
            for row in rows
        ],
        "limits": [limit._asdict() for limit in limits],
    }


def write(folder: Path, rows: Sequence[Row], limits: Sequence[Limit], about: dict, notes: Sequence[str]) -> list[Path]:
    """Writes `image.json` and `image.md`."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {
        "image.json": json.dumps(as_dict(rows, limits, about), indent=1) + "\n",
        "image.md": markdown(rows, limits, about, notes),
    }
    for name, text in contents.items():
        (folder / name).write_text(text)
    return [folder / name for name in contents]
