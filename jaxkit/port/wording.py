"""Numbers and verdicts of a port in plain words: shared by the terminal, the page, JUnit and README."""

import math
from collections.abc import Mapping
from typing import Any

NOTHING = "–"
SIDE_NAMES = {"reference": "slow", "rewrite": "jaxkit"}


def side_name(side: str) -> str:
    """Says what a side of the measurement is called in reports: the reference is `slow`, the rewrite `jaxkit`."""
    return SIDE_NAMES.get(side, side)


def significant(value: float, digits: int = 3) -> str:
    """Writes a number with `digits` significant digits and without an exponent where it is readable."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    if not 1e-3 <= abs(value) < 1e6:
        return f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def seconds(value: float | None) -> str:
    """Writes a time given in seconds with the unit that suits it: `39.9 ms`."""
    if value is None:
        return NOTHING
    if value >= 7200:
        return f"{significant(value / 3600)} h"
    if value >= 120:
        return f"{significant(value / 60)} min"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{significant(value / scale)} {unit}"
    return f"{significant(value / 1e-9)} ns"


def quotient(value: float) -> str:
    """Writes a ratio of times with two or three digits: `131`, `2.2`."""
    return significant(value, 3 if value >= 100 else 2)


def speedup(entry: Mapping[str, Any] | None) -> str:
    """Writes a speed-up with its range: `131× (121–141)`; an extrapolated one says so."""
    if not entry:
        return NOTHING
    text = f"{quotient(entry['median'])}× ({quotient(entry['low'])}–{quotient(entry['high'])})"
    return f"{text}, extrapolated" if entry.get("extrapolated") else text


def share(value: float | None) -> str:
    """Writes a share in [0, 1] as a percentage: `6.7 %`."""
    return NOTHING if value is None else f"{significant(100 * value, 2)} %"


def calls(value: float | None) -> str:
    """Writes the number of calls after which the compile time is paid for; `never` for infinity."""
    if value is None:
        return NOTHING
    return f"{math.ceil(value):,}" if math.isfinite(value) else "never"


def figure(value: Any) -> str:
    """Writes one figure of a check or one cell of a table."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{int(value):,}" if value.is_integer() and abs(value) < 1e9 else significant(value)
    return str(value)


def check_name(check: Mapping[str, Any]) -> str:
    """Names a parity check or limit, with its case where it has one: `levels (rendered fonts)`."""
    return f"{check['name']} ({check['case']})" if check.get("case") else str(check["name"])


def tally(checks: list[Mapping[str, Any]]) -> str:
    """Counts checks: `4 of 4`, `1 of 2 FAILED`, or a dash for none."""
    if not checks:
        return NOTHING
    failed = sum(not check["passed"] for check in checks)
    return f"{failed} of {len(checks)} FAILED" if failed else f"{len(checks)} of {len(checks)}"


def complaints(record: Mapping[str, Any]) -> list[str]:
    """Lists what is wrong with a port, one plain sentence each: the crash, then parity, then limits."""
    found = [f"Broken: {record['error']}"] if record.get("error") else []
    for kind, key in (("Parity", "parity"), ("Limit", "limits")):
        found += [f"{kind}, {check_name(c)}: {c['message']}" for c in record[key] if not c["passed"]]
    if parity_failed(record):
        found.append("Nothing was timed: a speed-up means something only where both sides compute the same.")
    return found


def parity_failed(record: Mapping[str, Any]) -> bool:
    """Tells whether any parity check of a port failed."""
    return any(not check["passed"] for check in record["parity"])
