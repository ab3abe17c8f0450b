"""What `jaxkit prove` tells: the table in the terminal, the failures in plain words, the files, the exit code."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from jaxkit.port import html, junit, plots, wording
from jaxkit.port.result import BROKEN, LIMITS_EXCEEDED, PARITY_FAILED, PASSED, TOO_SLOW, Result
from jaxkit.port.summary import Summary, summarise

# A wrong result is worse than a dear one, and a port that did not run may hide both.
EXIT_CODES = {BROKEN: 4, PARITY_FAILED: 1, LIMITS_EXCEEDED: 2, TOO_SLOW: 3, PASSED: 0}
# Widths that fit the table into the 80 columns of a small terminal.
NARROW = {"checks": 10, "side": 10, "speed-up": 14, "cost": 14}
COLOURS = {PASSED: "green", LIMITS_EXCEEDED: "yellow", TOO_SLOW: "yellow"}


def exit_code(verdicts: Sequence[str]) -> int:
    """Return the code of the worst verdict: 4 broken, 1 parity, 2 limits, 3 performance, 0 all passed."""
    return next((code for verdict, code in EXIT_CODES.items() if verdict in verdicts), 0)


def show(records: Sequence[Mapping[str, Any]], console: Any) -> None:
    """Print the records (`Result.to_json()`) of a run to a `rich` console: the table, the failures, further tables."""
    from rich.text import Text

    console.print(_overview([summarise(record) for record in records], narrow=console.width < 110), "")
    for record in records:
        for complaint in wording.complaints(record):
            console.print(Text.assemble((record["port"], "bold red"), f": {complaint}"))
    for record in records:
        for table in record["tables"]:
            console.print(Text(f"\n{record['port']}: {table['title']}", "bold"), _further(table), Text(table["note"]))


def write(results: Sequence[Result], folder: Path) -> Path:
    """Write a run into `folder`: a JSON for each port, its pictures, `index.html` and `junit.xml`. Returns the page.

    Older JSON files stay, so that `jaxkit diff` can compare two runs; page and JUnit are those of this run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    records = []
    for result in results:
        stem = _free_stem(result, [record["port"] for record in records])
        records.append(_with_files(result, folder, stem))
        text = json.dumps(records[-1], indent=1, ensure_ascii=False, allow_nan=False)
        (folder / f"{stem}.json").write_text(text + "\n", encoding="utf-8")
    page = folder / "index.html"
    page.write_text(html.page(records, [result.pictures for result in results]), encoding="utf-8")
    (folder / "junit.xml").write_text(junit.document(records), encoding="utf-8")
    return page


def read(path: Path) -> dict[str, Any]:
    """Read one JSON that `write` wrote.

    Raises:
      ValueError: if the file is not a record of schema 1.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(record, dict) or record.get("schema") != 1:
        raise ValueError(f"{path} is not a record of schema 1: give a JSON file that `jaxkit prove` wrote")
    return record


def _free_stem(result: Result, taken: Sequence[str]) -> str:
    """Name the files of a port's run: `ocr_lines-20261130T163549`; a second port of one name gets a `-2`."""
    again = f"-{taken.count(result.port) + 1}" if result.port in taken else ""
    return f"{result.port}{again}-{re.sub(r'[^0-9T]', '', result.started[:19])}"


def _with_files(result: Result, folder: Path, stem: str) -> dict[str, Any]:
    """Write the pictures of a result and return its record with their file names in it."""
    record = result.to_json()
    for number, (picture, entry) in enumerate(zip(result.pictures, record["pictures"], strict=True), 1):
        gap = plots.difference(picture.reference, picture.rewrite)
        sheet = plots.sheet([picture.before, picture.reference, picture.rewrite, gap.picture])
        entry |= {"file": f"{stem}-{number}.png", "difference": gap.caption}
        (folder / entry["file"]).write_bytes(plots.png(sheet))
    return record


def _overview(lines: Sequence[Summary], *, narrow: bool) -> Any:
    """Build the table of all ports: the sides of one port stand under each other, slow first and jaxkit last."""
    table = _table()
    for heading in ("port", "checks", "side", "time", "speed-up", "cost"):
        most = NARROW.get(heading) if narrow else None
        table.add_column(heading, max_width=most, justify="right" if heading == "time" else "left")
    for line in lines:
        checks = (f"parity {line.parity}", f"limits {line.limits}")
        rows = list(zip_longest(_about(line), checks, *_sides(line), _costs(line), fillvalue=""))
        for row in rows:
            table.add_row(*row, end_section=row is rows[-1])
    return table


def _about(line: Summary) -> tuple[Any, Any]:
    from rich.text import Text

    return Text(line.port, "bold"), Text(line.verdict, COLOURS.get(line.verdict, "bold red"))


def _sides(line: Summary) -> tuple[tuple[str, ...], ...]:
    """List side, time and speed-up over it, slow first and jaxkit last, as three columns."""
    if line.rewrite == wording.NOTHING:
        return ((wording.NOTHING,),) * 3
    gains = dict(line.gains)
    sides = [("slow", line.reference, line.speedup)]
    sides += [(name, time, gains.get(name, wording.NOTHING)) for name, time in line.alternatives]
    sides += [("jaxkit", f"{line.rewrite} (size {line.size})", "")]
    return tuple(zip(*(_size_to_side(*side) for side in sides), strict=True))


def _size_to_side(side: str, time: str, gain: str) -> tuple[str, str, str]:
    """Move the size that a time may name to the side, so that the times stand in line."""
    time, _, size = time.partition(" (")
    return f"{side} ({size}" if size else side, time, gain


def _costs(line: Summary) -> list[str]:
    """List what the rewrite costs before it gains, and how much a better one could still gain."""
    costs = (
        ("compile {}", line.compile),
        ("paid: {}", line.break_even),
        ("{} of the limit", line.share_of_limit),
    )
    return [text.format(value) for text, value in costs if value != wording.NOTHING]


def _further(content: Mapping[str, Any]) -> Any:
    from rich.text import Text

    table = _table()
    for column, is_number in zip(content["columns"], wording.numeric_columns(content), strict=True):
        table.add_column(Text(column), justify="right" if is_number else "left")
    for row in content["rows"]:
        table.add_row(*(Text(wording.figure(cell)) for cell in row))
    return table


def _table() -> Any:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
