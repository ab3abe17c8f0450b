"""The report as one self-contained page: styles inline, plots and pictures as data URIs, nothing fetched."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxkit.port import plots, wording
from jaxkit.port.declare import Picture
from jaxkit.port.summary import summarise

TEMPLATES = Path(__file__).parent / "templates"
TONES = {"passed": "good", "too slow": "warn", "limits exceeded": "warn"}


class Pane(NamedTuple):
    """One of the four images of a picture: its title and data URI, and the words for who cannot see it."""

    title: str
    uri: str
    alt: str


def page(records: Sequence[Mapping[str, Any]], pictures: Sequence[Sequence[Picture]] = ()) -> str:
    """Render the records (`Result.to_json()`) of one run as a page; `pictures` are those of each, in the same order."""
    shown = pictures or [()] * len(records)
    ports = [_port(*pair, f"port-{number}") for number, pair in enumerate(zip(records, shown, strict=True), 1)]
    tones = [port["tone"] for port in ports]
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            ports=ports,
            style=(TEMPLATES / "report.css").read_text(encoding="utf-8"),
            started=records[0]["started"] if records else "",
            environment=records[0]["environment"] if records else {},
            passed=tones.count("good"),
            nothing=wording.NOTHING,
        )
    )


def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {name: getattr(wording, name) for name in ("figure", "check_name", "numeric_columns")}
    return environment


def _port(record: Mapping[str, Any], pictures: Sequence[Picture], anchor: str) -> dict[str, Any]:
    """Gather what the template shows of one port."""
    timed = record.get("measurement") if not wording.parity_failed(record) else None
    return {
        "record": record,
        "line": summarise(record),
        "tone": TONES.get(record["verdict"], "bad"),
        "anchor": anchor,
        "complaints": wording.complaints(record),
        "facts": _facts(timed) if timed else (),
        "plots": (plots.times(timed), plots.times(timed, dark=True)) if timed else (),
        "times": _times(timed) if timed else (),
        "pictures": [(picture.title, _panes(picture), "wide" if _is_wide(picture) else "") for picture in pictures],
    }


def _facts(measurement: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List name and value of what was measured beside the times; leaves out what was not."""
    machine = measurement.get("machine") or {}
    powers = {name: power for name, power in (measurement.get("growth") or {}).items() if power is not None}
    facts = [
        ("compile time", wording.seconds(measurement.get("compile_s"))),
        ("which is paid for after", wording.calls(measurement.get("break_even_calls"))),
        *((f"growth of {wording.side_name(name)}", f"size^{wording.quotient(p)}") for name, p in powers.items()),
        ("temporary memory", _with_unit(measurement.get("temporary_mb"), "MB")),
        ("bytes moved", _with_unit(machine.get("bytes"), "MB", 1e6)),
        ("operations", _with_unit(machine.get("flops"), "Mflop", 1e6)),
        ("copy bandwidth of the machine", _with_unit(machine.get("copy_gb_s"), "GB/s")),
        ("matrix rate of the machine", _with_unit(machine.get("matrix_gflop_s"), "Gflop/s")),
        ("time that the machine's limit allows", wording.seconds(machine.get("limit_s"))),
        ("share of the machine's limit reached", wording.share(machine.get("share_of_limit"))),
    ]
    return [(name, value) for name, value in facts if value != wording.NOTHING]


def _with_unit(value: float | None, unit: str, scale: float = 1.0) -> str:
    return wording.NOTHING if value is None else f"{wording.significant(value / scale)} {unit}"


def _times(measurement: Mapping[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """List side, size, median, quartiles and jaxkit's speed-up over that side."""
    speedups = measurement.get("speedup") or {}
    rows = []
    for side, times in measurement["sides"].items():
        over = speedups.get(side, {})
        for size in sorted({*times, *over}, key=float):
            at = times.get(size)
            spread = f"{wording.seconds(at['low_s'])} – {wording.seconds(at['high_s'])}" if at else wording.NOTHING
            median = wording.seconds(at["median_s"]) if at else "not run"
            rows.append((wording.side_name(side), size, median, spread, wording.speedup(over.get(size))))
    return rows


def _is_wide(picture: Picture) -> bool:
    return picture.before.shape[1] > 2 * picture.before.shape[0]


def _panes(picture: Picture) -> list[Pane]:
    gap = plots.difference(picture.reference, picture.rewrite)
    sides = (("before", picture.before), ("slow", picture.reference), ("jaxkit", picture.rewrite))
    panes = [_pane(picture.title, title, image) for title, image in sides]
    return [*panes, _pane(picture.title, f"difference, {gap.caption}", gap.picture, keep="max")]


def _pane(of: str, title: str, image: np.ndarray, *, keep: str = "mean") -> Pane:
    factor = plots.reduction(image)
    title += f", shown at 1/{factor} of its size" if factor > 1 else ""
    return Pane(title, plots.png_uri(plots.shrink(image, keep=keep)), f"{of}: {title}")
