"""Proving one port: parity, limits, then times, and none of the last without the first."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxkit.port import result as results
from jaxkit.port.declare import Picture, Port, Request, Table
from jaxkit.port.leaves import array_like
from jaxkit.port.machine import environment, now
from jaxkit.port.measure import measure
from jaxkit.port.program import Footprint, footprint, memory_check, static_checks, trace
from jaxkit.port.result import LimitCheck, Measurement, Result, Verdict
from jaxkit.port.sides import SideError, guarded, make_cases
from jaxkit.port.watch import check_compilations

Listen = Callable[[str, int, int], None]


@dataclass
class _Findings:
    """What is known so far; a crash later leaves it standing."""

    parity: list[Verdict] = field(default_factory=list)
    limits: list[LimitCheck] = field(default_factory=list)
    footprint: Footprint | str = "not planned"
    measurement: Measurement | None = None
    tables: list[Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        return bool(self.parity) and all(verdict.passed for verdict in self.parity) and not self.errors


def prove(
    port: Port, request: Request | None = None, *, listen: Listen | None = None, path: Path | None = None
) -> Result:
    """Prove a port: all agreements on all cases, then the limits, then the times if every agreement holds.

    A program that crashes makes the verdict "broken", with the program, the case and the line in `error`; what was
    found before stays in the result. Tables are made only where parity holds, since they hold times too; pictures
    always.

    Args:
      port: the declaration.
      request: how to run it; the default is `Request()`.
      listen: called as `listen(stage, done, total)` when a step begins.
      path: where the port lies; found from its `cases` by default.
    """
    request, tell = request or Request(), listen or (lambda stage, done, total: None)
    path, started, found = path or _source(port), now(), _Findings()
    for step in (_watch, _parity, _program, _measure):
        with _kept(found.errors):
            step(port, request, found, tell)
        if found.errors:
            break
    _extras(port, request, found, tell)
    return _result(port, path, started, found)


def _result(port: Port, path: Path, started: str, found: _Findings) -> Result:
    return Result(
        port=port.name,
        claim=port.claim,
        path=str(path),
        started=started,
        environment=environment(path if path.is_dir() else path.parent),
        verdict=_verdict(found),
        error="; ".join(found.errors) or None,
        parity=tuple(found.parity),
        limits=tuple(found.limits),
        measurement=found.measurement,
        tables=tuple(found.tables),
        pictures=tuple(found.pictures),
        deviations=tuple(port.deviations),
    )


@contextmanager
def _kept(errors: list[str]) -> Iterator[None]:
    try:
        yield
    except SideError as error:
        errors.append(str(error))


def _source(port: Port) -> Path:
    try:
        return Path(inspect.getsourcefile(inspect.unwrap(port.cases)) or "")
    except TypeError:
        return Path()


def _watch(port: Port, request: Request, found: _Findings, tell: Listen) -> None:
    """Compilations are counted before parity, since that is when each shape is compiled anyway."""
    tell("compiling", 0, 1)
    cases = make_cases(port.cases, request)
    reseeded = make_cases(port.cases, replace(request, seed=request.seed + 1))
    found.limits += check_compilations(port.rewrite, cases, reseeded, port.limits.compilations)


def _parity(port: Port, request: Request, found: _Findings, tell: Listen) -> None:
    for done, agreement in enumerate(port.agreement):
        name = getattr(agreement, "name", type(agreement).__name__)
        tell(f"parity: {name}", done, len(port.agreement))
        with guarded(f"the agreement {name!r}"):
            found.parity.append(agreement.check(port, request))


def _program(port: Port, request: Request, found: _Findings, tell: Listen) -> None:
    tell("limits", 0, 2)
    program = trace(port.rewrite, _largest(port, request))
    found.limits += static_checks(program, port.limits)
    tell("limits", 1, 2)
    found.footprint = footprint(program)
    found.limits.append(memory_check(found.footprint, port.limits.temporary_mb))


def _largest(port: Port, request: Request) -> tuple:
    if port.inputs is not None:
        with guarded(f"making the inputs of size {port.sizes[-1]}"):
            return tuple(port.inputs(port.sizes[-1], request))
    return max((case.inputs for case in make_cases(port.cases, request)), key=_bytes)


def _bytes(inputs: Any) -> int:
    return sum(np.size(leaf) * leaf.dtype.itemsize for leaf in jax.tree.leaves(inputs) if array_like(leaf))


def _measure(port: Port, request: Request, found: _Findings, tell: Listen) -> None:
    if not found.equal:
        return
    on_device = jax.default_backend() != "cpu"
    found.measurement = measure(port, request, found.footprint, on_device=on_device, listen=tell)
    compile_s, limit = found.measurement.compile_s, port.limits.compile_seconds
    message = f"compiling for the largest inputs takes {compile_s:.2g} s"
    found.limits.append(LimitCheck("compile_seconds", limit is None or compile_s <= limit, compile_s, limit, message))
    gain, least = found.measurement.speedup["reference"][found.measurement.sizes[-1]], port.limits.speedup
    message = f"{gain.median:.3g} times the speed of the reference ({gain.low:.3g} to {gain.high:.3g}): {gain.word}"
    message += ", extrapolated" if gain.extrapolated else ""
    found.limits.append(LimitCheck("speedup", least is None or gain.median >= least, gain.median, least, message))


def _extras(port: Port, request: Request, found: _Findings, tell: Listen) -> None:
    """Tables and pictures come last: what they lose is only themselves."""
    if port.tables and found.equal:
        tell("tables", 0, 1)
        with _kept(found.errors), guarded("making the tables"):
            found.tables += port.tables(request)
    if port.pictures:
        tell("pictures", 0, 1)
        with _kept(found.errors), guarded("making the pictures"):
            found.pictures += port.pictures(request)


def _verdict(found: _Findings) -> str:
    missed = {check.name for check in found.limits if not check.passed}
    if any(not verdict.passed for verdict in found.parity):
        return results.PARITY_FAILED
    if found.errors:
        return results.BROKEN
    if missed - {"speedup"}:
        return results.LIMITS_EXCEEDED
    return results.TOO_SLOW if missed else results.PASSED
