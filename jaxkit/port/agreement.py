"""How two deterministic programs must agree: bit for bit, within levels, or as close to the truth as each other.

Every agreement can compare other programs than the port's own (`reference=`, `rewrite=`, `cases=`): a random port
proves its `apply` with the draws among the inputs, while the full programs are what is measured.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxkit.port.declare import Case, Port, Request
from jaxkit.port.leaves import describe, leaves, mismatch, place
from jaxkit.port.result import Verdict
from jaxkit.port.sides import SideError, call, make_cases


@dataclass(frozen=True)
class Exact:
    """Same structure, dtypes, shapes and bits in every case. NaN equals NaN, and 0.0 does not equal -0.0.

    Args:
      reference, rewrite, cases: programs and inputs to compare in place of the port's own.
    """

    reference: Callable[..., Any] | None = None
    rewrite: Callable[..., Any] | None = None
    cases: Callable[[Request], Sequence[Case]] | None = None
    name: str = "exact"

    def check(self, port: Port, request: Request) -> Verdict:
        """Compare all cases; the message tells how many values differ and where the first one is."""
        values = count = 0
        for case, reference, rewrite in pairs(self, port, request):
            count += 1
            message = mismatch(reference, rewrite) or _differing(reference, rewrite)
            if message:
                return Verdict(self.name, False, message, {"cases": count}, case.name)
            values += sum(leaf.value.size for leaf in leaves(reference))
        message = f"all {values} values in {count} {_cases(count)} are equal bit for bit"
        return Verdict(self.name, True, message, {"cases": count, "values": values})


@dataclass(frozen=True)
class Levels:
    """Integer results, such as uint8 images, that differ by a few levels in few places.

    Args:
      most: largest difference allowed, in levels.
      share: largest part of the values of one array that may differ at all.
      reference, rewrite, cases: programs and inputs to compare in place of the port's own.

    Raises:
      ValueError: if `most` is negative or `share` is not within [0, 1].
    """

    most: int = 1
    share: float = 0.001
    reference: Callable[..., Any] | None = None
    rewrite: Callable[..., Any] | None = None
    cases: Callable[[Request], Sequence[Case]] | None = None
    name: str = "levels"

    def __post_init__(self) -> None:
        if self.most < 0 or not 0 <= self.share <= 1:
            raise ValueError(f"Levels(most={self.most}, share={self.share}): most >= 0 and share in [0, 1] are needed")

    def check(self, port: Port, request: Request) -> Verdict:
        """Compare all cases; the message tells the largest difference, its place, and the largest share."""
        most, share, where, worst_case, count = 0, 0.0, "", None, 0
        for case, reference, rewrite in pairs(self, port, request):
            count += 1
            message = mismatch(reference, rewrite) or _not_integer(reference)
            if message:
                return Verdict(self.name, False, message, {"cases": count}, case.name)
            for a, b in zip(leaves(reference), leaves(rewrite), strict=True):
                gap = _level_gap(a.value, b.value)
                found = float((gap > 0).mean()) if gap.size else 0.0
                if found and (int(gap.max()), found) > (most, share):
                    where, worst_case = place(a, int(gap.argmax())), case.name
                most, share = max(most, int(gap.max(initial=0))), max(share, found)
        passed = most <= self.most and share <= self.share
        message = f"largest difference {most} (limit {self.most}), at most {share:.3%} of an array differ"
        message += f" (limit {self.share:.3%})" + (f"; worst at {where}" if where else "")
        figures = {"cases": count, "largest difference": most, "share that differs": share}
        return Verdict(self.name, passed, message, figures, worst_case)


def pairs(agreement: Any, port: Port, request: Request) -> Iterator[tuple[Case, Any, Any]]:
    """Run both sides on each case, the agreement's own programs and cases going before the port's."""
    for case in make_cases(agreement.cases or port.cases, request):
        where = f"case {case.name!r}"
        reference = call("reference", agreement.reference or port.reference, case.inputs, where)
        rewrite = call("rewrite", agreement.rewrite or port.rewrite, case.inputs, where)
        yield case, _readable("reference", reference, where), _readable("rewrite", rewrite, where)


def _readable(side: str, result: Any, where: str) -> Any:
    try:
        leaves(result)
    except ValueError as error:
        raise SideError(f"the {side} on {where} returned something that cannot be compared: {error}") from error
    return result


def _cases(count: int) -> str:
    return "case" if count == 1 else "cases"


def _bits(value: np.ndarray) -> np.ndarray:
    """View a number as unsigned integers of its size, all NaN made alike."""
    if value.dtype.kind not in "fcV":
        return value
    if value.dtype.kind == "c":
        value = np.ascontiguousarray(value)[..., None].view(value.real.dtype)
    value = np.where(np.isnan(value), np.full((), np.nan, value.dtype), value)
    return value.view(f"u{value.dtype.itemsize}")


def _differing(reference: Any, rewrite: Any) -> str | None:
    for a, b in zip(leaves(reference), leaves(rewrite), strict=True):
        differs = _bits(a.value) != _bits(b.value)
        differs = differs.any(-1) if a.value.dtype.kind == "c" else differs
        if differs.any():
            first = int(np.argmax(differs))
            return (
                f"{int(differs.sum())} of {differs.size} values of {a.path} differ, the first at {place(a, first)}: "
                f"the reference gives {a.value.flat[first]}, the rewrite gives {b.value.flat[first]}"
            )
    return None


def _not_integer(result: Any) -> str | None:
    for leaf in leaves(result):
        if leaf.value.dtype.kind not in "biu":
            return f"{leaf.path} is {describe(leaf.value)}, Levels compares integers: use Close(truth=...) for floats"
    return None


def _level_gap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Exact absolute difference of integers, as uint64 (the difference of two int64 can need the 64th bit)."""
    return np.maximum(a, b).astype(np.uint64) - np.minimum(a, b).astype(np.uint64)
