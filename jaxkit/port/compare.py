"""`jaxkit diff`: what got worse or better between two runs of one port."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from jaxkit.port import wording
from jaxkit.port.report import EXIT_CODES
from jaxkit.port.result import LIMITS_EXCEEDED, PARITY_FAILED, PASSED, TOO_SLOW

# Machines differ by a few per cent from run to run; the quartiles of one run do not show that.
NOISE = 1.1
COSTS = (("compile time", "compile_s", wording.seconds), ("temporary MB", "temporary_mb", wording.figure))


class Change(NamedTuple):
    """One difference: what it is about, both values in words, `worse` / `better` / `cannot tell`, and its verdict."""

    about: str
    before: str
    after: str
    word: str
    verdict: str = PASSED


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """List the differences between two records (`Result.to_json()`) of the same port.

    A time counts as worse or better where the quartiles of both runs do not overlap and the medians are more than
    10 % apart; compile time and memory where they are more than 10 % apart.

    Raises:
      ValueError: if the records are of different ports.
    """
    if before["port"] != after["port"]:
        raise ValueError(f"the runs are of different ports: {before['port']!r} and {after['port']!r}")
    changes = [*_checks(before, after, "parity", PARITY_FAILED), *_checks(before, after, "limits", LIMITS_EXCEEDED)]
    return [*changes, *_times(before, after), *_costs(before, after)]


def exit_code(changes: list[Change]) -> int:
    """Return the code of the worst regression: 1 parity, 2 limits, 3 performance, 0 none."""
    verdicts = {change.verdict for change in changes if change.word == "worse"}
    return next((code for verdict, code in EXIT_CODES.items() if verdict in verdicts), 0)


def _checks(before: Mapping, after: Mapping, kind: str, verdict: str) -> Iterator[Change]:
    old, new = ({wording.check_name(c): c["passed"] for c in record[kind]} for record in (before, after))
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            word = "better" if new.get(name) else "worse" if new.get(name) is False else "cannot tell"
            fault = TOO_SLOW if name == "speedup" else verdict
            yield Change(f"{kind}: {name}", _outcome(old.get(name)), _outcome(new.get(name)), word, fault)


def _outcome(passed: bool | None) -> str:
    return "not checked" if passed is None else "passed" if passed else "FAILED"


def _times(before: Mapping, after: Mapping) -> Iterator[Change]:
    old, new = (_rewrite_times(record) for record in (before, after))
    for size in sorted(old.keys() & new.keys(), key=float):
        a, b = old[size], new[size]
        word = _word(a["median_s"], b["median_s"])
        overlap = a["low_s"] <= b["high_s"] and b["low_s"] <= a["high_s"]
        shown = (wording.seconds(a["median_s"]), wording.seconds(b["median_s"]))
        yield Change(f"time at size {size}", *shown, "cannot tell" if overlap else word, TOO_SLOW)


def _rewrite_times(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return (record.get("measurement") or {}).get("sides", {}).get("rewrite", {})


def _costs(before: Mapping, after: Mapping) -> Iterator[Change]:
    for name, key, show in COSTS:
        a, b = ((record.get("measurement") or {}).get(key) for record in (before, after))
        if a is not None and b is not None:
            yield Change(name, show(a), show(b), _word(a, b), TOO_SLOW)


def _word(before: float, after: float) -> str:
    if after > before * NOISE:
        return "worse"
    return "better" if after * NOISE < before else "cannot tell"
