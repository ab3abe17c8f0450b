"""One line about a port, as strings: what the terminal, the page and README put into their tables."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxkit.port import wording


class Summary(NamedTuple):
    """The line of one port. `size` is the largest measured one, which the times and the speed-up are about."""

    port: str
    verdict: str
    parity: str
    limits: str
    size: str = wording.NOTHING
    reference: str = wording.NOTHING
    alternatives: tuple[tuple[str, str], ...] = ()
    rewrite: str = wording.NOTHING
    speedup: str = wording.NOTHING
    gains: tuple[tuple[str, str], ...] = ()
    compile: str = wording.NOTHING
    break_even: str = wording.NOTHING
    share_of_limit: str = wording.NOTHING


def summarise(record: Mapping[str, Any]) -> Summary:
    """Summarise the record (`Result.to_json()`) of one port; no time and no speed-up where parity failed."""
    line = Summary(
        port=record["port"],
        verdict=record["verdict"],
        parity=wording.tally(record["parity"]),
        limits=wording.tally(record["limits"]),
    )
    measurement = record.get("measurement")
    if not measurement or wording.parity_failed(record):
        return line
    return _with_times(line, measurement)


def _with_times(line: Summary, measurement: Mapping[str, Any]) -> Summary:
    sides = measurement["sides"]
    size = largest_size(measurement)
    others = [side for side in sides if side not in ("reference", "rewrite")]
    gains = {side: wording.speedup(by_size.get(size)) for side, by_size in (measurement.get("speedup") or {}).items()}
    return line._replace(
        size=size,
        reference=time_at(sides.get("reference", {}), size),
        alternatives=tuple((side, time_at(sides[side], size)) for side in others),
        rewrite=time_at(sides["rewrite"], size),
        speedup=gains.get("reference", wording.NOTHING),
        gains=tuple((side, text) for side, text in gains.items() if side != "reference"),
        compile=wording.seconds(measurement.get("compile_s")),
        break_even=wording.calls(measurement.get("break_even_calls")),
        share_of_limit=wording.share((measurement.get("machine") or {}).get("share_of_limit")),
    )


def largest_size(measurement: Mapping[str, Any]) -> str:
    """Name the largest size at which the rewrite was timed, as the record spells it."""
    return max(measurement["sides"]["rewrite"], key=float)


def time_at(times: Mapping[str, Any], size: str) -> str:
    """Write a side's median time at `size`, or at its own largest size, which is then named."""
    if size in times:
        return wording.seconds(times[size]["median_s"])
    if not times:
        return wording.NOTHING
    largest = max(times, key=float)
    return f"{wording.seconds(times[largest]['median_s'])} (size {largest})"
