"""What was found wrong with the rows of a cloud, as a record and as a table."""

import dataclasses
from typing import NamedTuple

REASONS = (
    "unreadable",
    "NaN",
    "infinite",
    "zero quaternion",
    "not a rotation",
    "not symmetric",
    "not positive semidefinite",
    "non-positive axis",
    "extreme aspect",
    "out of range",
)
CLAMPABLE = ("not positive semidefinite", "non-positive axis", "extreme aspect")
REMEDIES = {
    "unreadable": "cells that are not numbers, or too few of them",
    "not a rotation": "the columns of a matrix must be unit vectors at right angles",
    "not symmetric": "a covariance equals its transpose",
    "extreme aspect": "longest over shortest axis exceeds max_aspect",
    "out of range": "axes lie in 1e-12 to 1e12 and coordinates within 1e15: choose another unit",
}


class Invalid(NamedTuple):
    """How many rows were invalid for one reason, and the numbers of the first of them."""

    count: int
    first: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Report:
    """What validation found.

    Attributes:
      rows: rows of the cloud, good and bad.
      invalid: reason to `Invalid`; each bad row counts under the first reason that holds for it. Empty: all is well.
      dropped: invalid rows that became bodies without extent.
      clamped: invalid rows whose short axes were raised.
      faint: rows left out by `min_opacity` or `iso_opacity`; they are not invalid.
      largest_aspect: longest over shortest semi-axis of the most extreme body that was kept.
      size_ratio: longest semi-axis of the largest body over that of the smallest.
    """

    rows: int
    invalid: dict[str, Invalid]
    dropped: int = 0
    clamped: int = 0
    faint: int = 0
    largest_aspect: float = 1.0
    size_ratio: float = 1.0

    def __hash__(self) -> int:
        return hash((self.rows, tuple(self.invalid.items()), self.dropped, self.clamped, self.faint))

    def __str__(self) -> str:
        lines = [f"{sum(one.count for one in self.invalid.values())} of {self.rows} rows are invalid"]
        lines += [_line(reason, *one) for reason, one in self.invalid.items()]
        return "\n".join(lines)


def _line(reason: str, count: int, first: tuple[int, ...]) -> str:
    more = ", ..." if count > len(first) else ""
    remedy = f" ({REMEDIES[reason]})" if reason in REMEDIES else ""
    return f"  {reason:<26}{count:>12}  rows {', '.join(map(str, first))}{more}{remedy}"


class InvalidEllipsoidError(ValueError):
    """Rows of a cloud are no ellipsoids. The message holds the table of reasons.

    Attributes:
      report: the `Report`.
    """

    def __init__(self, report: Report, where: str = "") -> None:
        self.report = report
        super().__init__(
            f"{where + ': ' if where else ''}{report}\n"
            'Mend these rows, or pass on_invalid="drop" (they cover nothing) or "clamp" '
            "(short axes are raised to the longest / max_aspect; what that does not mend is dropped)."
        )
