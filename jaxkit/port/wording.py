"""Numbers and verdicts of a port in plain words: shared by the terminal, the page, JUnit and README."""

import math
import re
from collections.abc import Mapping
from typing import Any

NOTHING = "–"
SIDE_NAMES = {"reference": "slow", "rewrite": "jaxkit"}


def side_name(side: str) -> str:
    """Say what a side of the measurement is called in reports: the reference is `slow`, the rewrite `jaxkit`."""
    return SIDE_NAMES.get(side, side)


def significant(value: float | str, digits: int = 3) -> str:
    """Write a number with `digits` significant digits and without an exponent where it is readable.

    Records write numbers that are not finite as text, so `"inf"` is a number here as in the functions below.
    """
    value = float(value)
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    if not 1e-3 <= abs(value) < 1e6:
        return f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def seconds(value: float | str | None) -> str:
    """Write a time given in seconds with the unit that suits it: `39.9 ms`."""
    if value is None:
        return NOTHING
    value = float(value)
    if value >= 7200:
        return f"{significant(value / 3600)} h"
    if value >= 120:
        return f"{significant(value / 60)} min"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{significant(value / scale)} {unit}"
    return f"{significant(value / 1e-9)} ns"


def round_seconds(value: float) -> str:
    """Write a time at a tick of an axis: as `seconds`, without trailing zeros."""
    number, unit = seconds(value).rsplit(" ", 1) if value else ("0", "")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}".strip()


def quotient(value: float | str) -> str:
    """Write a ratio of times with two or three digits: `131`, `2.2`."""
    return significant(value, 3 if float(value) >= 100 else 2)


def speedup(entry: Mapping[str, Any] | None) -> str:
    """Write a speed-up with its range: `131× (121–141)`; one that is extrapolated, or may be none, says so."""
    if not entry:
        return NOTHING
    notes = ["extrapolated"] if entry.get("extrapolated") else []
    notes += ["cannot tell"] if float(entry["low"]) <= 1 <= float(entry["high"]) else []
    span = f"{quotient(entry['low'])}–{quotient(entry['high'])}"
    return f"{quotient(entry['median'])}× ({', '.join([span, *notes])})"


def share(value: float | None) -> str:
    """Write a share in [0, 1] as a percentage: `6.7 %`."""
    return NOTHING if value is None else f"{significant(100 * value, 2)} %"


def calls(value: float | str | None) -> str:
    """Write after how many calls the compile time is paid for: `1 call`, `2 calls`, `never` for infinity."""
    if value is None:
        return NOTHING
    if not math.isfinite(float(value)):
        return "never"
    count = math.ceil(value)
    return f"{count:,} call" + ("s" if count != 1 else "")


def figure(value: Any) -> str:
    """Write one figure of a check or one cell of a table."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        whole = value.is_integer() or 1e3 <= abs(value) < 1e9
        return f"{value:,.0f}" if whole and abs(value) < 1e9 else f"{value:.3g}"
    return str(value)


def numeric_columns(table: Mapping[str, Any]) -> list[bool]:
    """Tell which columns of a further table hold numbers, perhaps with a unit, and stand at the right."""
    columns = zip(*table["rows"], strict=True) if table["rows"] else ([],) * len(table["columns"])
    return [all(re.match(r"[-+~≈]?\d|$|–$", figure(cell)) for cell in column) for column in columns]


def check_name(check: Mapping[str, Any]) -> str:
    """Name a parity check or limit, with its case where it has one: `levels (rendered fonts)`."""
    return f"{check['name']} ({check['case']})" if check.get("case") else str(check["name"])


def tally(checks: list[Mapping[str, Any]]) -> str:
    """Count checks: `4/4` passed, `1/2 FAILED`, or a dash for none. Limits that are switched off do not count."""
    outcomes = [check["passed"] for check in checks if check.get("limit", 0) is not None or not check["passed"]]
    if not outcomes:
        return NOTHING
    failed = outcomes.count(False)
    return f"{failed}/{len(outcomes)} FAILED" if failed else f"{len(outcomes)}/{len(outcomes)}"


def complaints(record: Mapping[str, Any]) -> list[str]:
    """List what is wrong with a port, one plain sentence each: the crash, then parity, then limits."""
    found = [f"Broken: {record['error']}"] if record.get("error") else []
    for kind, key in (("Parity", "parity"), ("Limit", "limits")):
        found += [f"{kind}, {check_name(c)}: {c['message']}" for c in record[key] if not c["passed"]]
    if parity_failed(record):
        found.append("Nothing was timed: a speed-up means something only where both sides compute the same.")
    return found


def parity_failed(record: Mapping[str, Any]) -> bool:
    """Tell whether any parity check of a port failed."""
    return any(not check["passed"] for check in record["parity"])
