"""The table on the terminal, `audio.md` and `audio.json`, all from the same rows."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.audio_clips import SIZES
from benchmarks.audio_measure import JAXKIT, Row

HEAD = ("op", "batch", "peer", "peer ms", "jaxkit ms", "x jaxkit is faster", "goal", "reached")
OWN_HEAD = ("op", "batch", "jaxkit ms", "hours of sound a second", "rounds", "compile s")
WIDTH = 120


def peer_cells(row: Row) -> list[tuple[str, ...]]:
    """One line a peer."""
    goals = {goal.peer: goal for goal in row.goals}
    found = []
    for peer, (value, low, high) in row.ratios.items():
        goal = (f"{goals[peer].least:g}", "yes" if goals[peer].reached else "NO") if peer in goals else ("", "")
        part = f" ({row.parts[peer]:.3g} of the batch)" if peer in row.parts else ""
        ratio = f"{value:.2f} ({low:.2f}-{high:.2f})"
        found.append((row.op, row.size, peer + part, time_cell(row, peer), time_cell(row, JAXKIT), ratio, *goal))
    return found


def own_cells(row: Row) -> tuple[str, ...]:
    pace = f"{row.hours_per_second:.2f}"
    return row.op, row.size, time_cell(row, JAXKIT), pace, str(row.rounds), f"{row.compile_seconds:.1f}"


def time_cell(row: Row, side: str) -> str:
    median, low, high = row.times[side]
    return f"{median:.1f} ({low:.1f}-{high:.1f})"


def line(row: Row) -> str:
    """What is printed as soon as a row is measured."""
    found = [f"{value.value:.2f} x {peer}" for peer, value in row.ratios.items()]
    own = row.error or f"{row.times[JAXKIT].median:.1f} ms"
    return ", ".join([f"{row.op}, {row.size}: {own}", *found])


def tables(rows: Sequence[Row]) -> dict[str, tuple[Sequence[str], list]]:
    """Title to head and body of each table that has rows."""
    timed = [row for row in rows if not row.error]
    found = {
        "Against peers": (HEAD, [cells for row in timed for cells in peer_cells(row)]),
        "jaxkit alone": (OWN_HEAD, [own_cells(row) for row in timed]),
        "Not measured": (("op", "batch", "why"), [(row.op, row.size, row.error) for row in rows if row.error]),
    }
    return {title: table for title, table in found.items() if table[1]}


def show(console: Console, rows: Sequence[Row]) -> None:
    """Prints the tables, without the spreads."""
    for title, (head, body) in tables(rows).items():
        table = Table(*head, title=title, width=max(console.width, WIDTH))
        for cells in body:
            table.add_row(*(shortened(cell) for cell in cells), style="red" if "NO" in cells else None)
        console.print(table, soft_wrap=True)


def shortened(cell: str) -> str:
    """A cell without its spread."""
    return cell if cell.endswith("of the batch)") else cell.split(" (")[0]


def markdown(rows: Sequence[Row], about: dict[str, Any], notes: Sequence[str]) -> str:
    """One page: what was measured and how, and the tables."""
    lines = ["# Audio: presets, filters and ops against their peers", ""]
    lines += [f"- {name}: {value}" for name, value in about.items()]
    lines += ["- batches: " + "; ".join(f"`{name}` {size}" for name, size in SIZES.items()), "", *notes, ""]
    for title, (head, body) in tables(rows).items():
        lines += [f"## {title}", "", *(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body)), ""]
    return "\n".join(lines)


def as_dict(rows: Sequence[Row], about: dict[str, Any]) -> dict[str, Any]:
    return {
        "about": about,
        "rows": [
            row._asdict()
            | {"times": {peer: value._asdict() for peer, value in row.times.items()}}
            | {"ratios": {peer: value._asdict() for peer, value in row.ratios.items()}}
            | {"goals": [goal._asdict() | {"reached": goal.reached} for goal in row.goals]}
            for row in rows
        ],
    }


def write(folder: Path, rows: Sequence[Row], about: dict[str, Any], notes: Sequence[str]) -> list[Path]:
    """Writes `audio.json` and `audio.md`."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {
        "audio.json": json.dumps(as_dict(rows, about), indent=1) + "\n",
        "audio.md": markdown(rows, about, notes),
    }
    for name, text in contents.items():
        (folder / name).write_text(text)
    return [folder / name for name in contents]
