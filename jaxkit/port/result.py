"""What came out of proving one port, and its JSON."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from jaxkit.port.declare import Picture, Table

SCHEMA = 1

PASSED = "passed"
PARITY_FAILED = "parity failed"
LIMITS_EXCEEDED = "limits exceeded"
TOO_SLOW = "too slow"
BROKEN = "broken"


@dataclass(frozen=True)
class Verdict:
    """What one agreement found: a plain sentence, and the figures behind it. `case` is the worst case, if any."""

    name: str
    passed: bool
    message: str
    figures: Mapping[str, float | str] = field(default_factory=dict)
    case: str | None = None


@dataclass(frozen=True)
class LimitCheck:
    """One limit: what was found and what was allowed. A value of None could not be found; the message says why."""

    name: str
    passed: bool
    value: float | None
    limit: float | None
    message: str


@dataclass(frozen=True)
class Timing:
    """Seconds per call over some rounds: median, quartiles and least."""

    median_s: float
    low_s: float
    high_s: float
    min_s: float
    rounds: int


@dataclass(frozen=True)
class Speedup:
    """How many times faster the rewrite is than another side.

    `median` is the ratio of the medians; `low` and `high` set the quartile of one side against the opposite quartile
    of the other. `extrapolated` says that the other side was timed at a smaller size only.
    """

    median: float
    low: float
    high: float
    extrapolated: bool = False

    @property
    def word(self) -> str:
        """Faster, slower, or cannot tell: the last where the spread includes 1."""
        if self.low > 1.0:
            return "faster"
        return "slower" if self.high < 1.0 else "cannot tell"


@dataclass(frozen=True)
class MachineShare:
    """The machine's limits, what XLA counts for the rewrite at the largest size, and how near it comes.

    `limit_s` is the larger of bytes over copy bandwidth and flops over matrix rate; `share_of_limit` is that over the
    median time of the rewrite. The counts are XLA's estimates: a loop body counts once, so the share can be too small,
    and data that stay in the cache are faster than the copy, so it can exceed 1.
    """

    copy_gb_s: float
    matrix_gflop_s: float
    bytes: float | None = None
    flops: float | None = None
    limit_s: float | None = None
    share_of_limit: float | None = None


@dataclass(frozen=True)
class Measurement:
    """Times of all sides by size; `speedup` and `growth` are by side."""

    sizes: tuple[int, ...]
    sides: Mapping[str, Mapping[int, Timing]]
    speedup: Mapping[str, Mapping[int, Speedup]]
    compile_s: float
    break_even_calls: float | None
    growth: Mapping[str, float]
    machine: MachineShare
    temporary_mb: float | None = None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """The measurement as schema 1 has it: sizes as text keys."""
        document = asdict(self)
        for name in ("sides", "speedup"):
            document[name] = {side: {str(n): v for n, v in row.items()} for side, row in document[name].items()}
        for side, row in self.speedup.items():
            for size, value in row.items():
                document["speedup"][side][str(size)]["word"] = value.word
        return document


@dataclass(frozen=True, eq=False)
class Result:
    """Everything that was found about one port."""

    port: str
    claim: str
    path: str
    started: str
    environment: Mapping[str, Any]
    verdict: str
    error: str | None = None
    parity: tuple[Verdict, ...] = ()
    limits: tuple[LimitCheck, ...] = ()
    measurement: Measurement | None = None
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    deviations: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The result as a document of schema 1: dicts, lists, text, finite numbers, booleans and None only.

        Pictures carry their title; whoever writes the images adds their `file`. Numbers that are not finite become
        text.
        """
        document = {
            "schema": SCHEMA,
            "port": self.port,
            "claim": self.claim,
            "path": self.path,
            "started": self.started,
            "environment": self.environment,
            "parity": [_verdict(verdict) for verdict in self.parity],
            "limits": [asdict(check) for check in self.limits],
            "measurement": self.measurement.to_json() if self.measurement else None,
            "tables": [asdict(table) for table in self.tables],
            "pictures": [{"title": picture.title} for picture in self.pictures],
            "deviations": self.deviations,
            "verdict": self.verdict,
            "error": self.error,
        }
        return _plain(document)


def _verdict(verdict: Verdict) -> dict[str, Any]:
    document = asdict(verdict)
    if document["case"] is None:
        del document["case"]
    return document


def _plain(value: Any) -> Any:
    """Turn tuples, NumPy numbers and other values into what JSON has."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        return _plain(value.item())
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)
