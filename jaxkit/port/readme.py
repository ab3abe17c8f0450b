"""The table of what the ports gained in a README, rewritten by the runner: `jaxkit prove ports --readme README.md`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxkit.port import wording
from jaxkit.port.summary import summarise

BEGIN = "<!-- ports:begin -->"
END = "<!-- ports:end -->"
COLUMNS = ("port", "parity", "slow", "jaxkit", "speed-up", "over the best alternative", "compile", "pays after")


def update(readme_path: Path, results: Sequence[Any]) -> None:
    """Rewrite the block between `<!-- ports:begin -->` and `<!-- ports:end -->` with one row for each port.

    Args:
      readme_path: a Markdown file that holds both markers, once, in this order.
      results: `Result`s of a run, or their JSON records.

    Raises:
      ValueError: if the markers are missing, doubled or swapped; the file is then left as it was.
    """
    text = Path(readme_path).read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"{readme_path} needs {BEGIN} and after it {END}, each once: the table goes between them")
    records = [result if isinstance(result, Mapping) else result.to_json() for result in results]
    before, rest = text.split(BEGIN)
    Path(readme_path).write_text(f"{before}{BEGIN}\n{block(records)}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def block(records: Sequence[Mapping[str, Any]]) -> str:
    """Write the table as Markdown, and beneath it where it was measured."""
    rows = [COLUMNS, ("---",) * len(COLUMNS), *(_row(record) for record in records)]
    table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    return f"{table}\n\n{_footnote(records[0])}" if records else table


def _row(record: Mapping[str, Any]) -> tuple[str, ...]:
    line = summarise(record)
    name = f"[{line.port}]({record['path']})" if not Path(record["path"]).is_absolute() else line.port
    parity = "proved" if record["parity"] and not wording.parity_failed(record) else record["verdict"]
    at_size = f" (size {line.size})" if line.size != wording.NOTHING else ""
    gains = (line.speedup, _least_gain(record))
    return name, parity, line.reference, line.rewrite + at_size, *gains, line.compile, line.break_even


def _least_gain(record: Mapping[str, Any]) -> str:
    """Write the speed-up over the alternative that jaxkit gains least on: the one that a sceptic asks about."""
    line = summarise(record)
    speedups = (record.get("measurement") or {}).get("speedup") or {}
    gains = {name: speedups[name][line.size]["median"] for name, gain in line.gains if gain != wording.NOTHING}
    if not gains:
        return wording.NOTHING
    best = min(gains, key=gains.__getitem__)
    return f"{dict(line.gains)[best]} over {best}"


def _footnote(record: Mapping[str, Any]) -> str:
    environment = record["environment"]
    names = ("cpu", "cores", "jax", "python")
    told = ", ".join(f"{name} {environment[name]}" for name in names if environment.get(name) is not None)
    day = record["started"][:10]
    return f"Written by `jaxkit prove` on {day}: medians and quartiles of interleaved rounds; {told}."
