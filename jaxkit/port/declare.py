"""What a port declares: two programs, the inputs, how they must agree, and what may be spent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

RESERVED = ("reference", "rewrite")


@dataclass(frozen=True)
class Request:
    """How a port is run this time.

    Args:
      input: folder of the user's own data, or None for the data that the port brings along.
      quick: fewer cases, draws and rounds; the answer comes sooner and says less.
      seed: where all random inputs start. Another seed gives other values of the same shapes.
    """

    input: Path | None = None
    quick: bool = False
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Case:
    """One set of positional arguments that both sides are called with.

    Args:
      name: what a report calls the case.
      inputs: NumPy arrays, numbers, strings, PRNG keys, or pytrees of them.

    Raises:
      ValueError: if the name is empty or `inputs` is not a tuple.
    """

    name: str
    inputs: tuple

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a case needs a name: a failure is reported under it")
        if not isinstance(self.inputs, tuple):
            raise ValueError(
                f"inputs of case {self.name!r} is a {type(self.inputs).__name__}: write a tuple of positional "
                "arguments, `(x,)` for a single one"
            )


@dataclass(frozen=True)
class Limits:
    """What a rewrite may spend. None switches a limit off.

    Args:
      compilations: executables that the first call with given shapes may make (1 is one jitted callable; a plain
        function around two of them needs 2, and eager `jnp` calls count as well). Every later call with the same
        shapes and Python values must make none, whatever this number is.
      host_syncs: places where the rewrite waits for a value on the host. The search stops at the first place that
        cannot be traced, so it counts as one; host callbacks are counted one by one. None for a rewrite that is
        partly host code on purpose.
      widenings: conversions of a float to a wider float, such as bfloat16 to float32.
      constant_mb: megabytes (1e6 bytes) of arrays that the program carries as constants.
      temporary_mb: megabytes of scratch memory that XLA plans for the largest inputs, arguments and results excluded.
      compile_seconds: first call minus a later call, for the largest inputs.
      speedup: least gain over the reference at the largest size; missing it is a failure of performance.

    Raises:
      ValueError: if a limit is negative.
    """

    compilations: int | None = 1
    host_syncs: int | None = 0
    widenings: int | None = None
    constant_mb: float | None = 1.0
    temporary_mb: float | None = None
    compile_seconds: float | None = None
    speedup: float | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None and not value >= 0:
                raise ValueError(f"limit {item.name}={value!r} must be 0 or more, or None to switch it off")


@dataclass(frozen=True, eq=False)
class Picture:
    """Images `[H, W, C]` uint8 for the report: the input and what both sides made of it."""

    title: str
    before: np.ndarray
    reference: np.ndarray
    rewrite: np.ndarray

    def __post_init__(self) -> None:
        for name in ("before", "reference", "rewrite"):
            image = np.asarray(getattr(self, name))
            if image.dtype != np.uint8 or image.ndim != 3:
                raise ValueError(
                    f"{name} of picture {self.title!r} is {image.dtype}{list(image.shape)}: give uint8 [H, W, C]"
                )


@dataclass(frozen=True)
class Table:
    """Further measurements of a port: rows of as many values as there are columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple, ...]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.title!r} has {len(self.columns)} columns, but a row of {len(row)}: {row!r}"
                )


@dataclass(frozen=True, eq=False)
class Port:
    """A slow program, its rewrite, and what has to hold between them.

    Args:
      name: short name, also used for files.
      claim: one sentence that says what the rewrite gains.
      reference: the slow program, honest and not handicapped. Called with the inputs of a case.
      rewrite: the fast program, called with the same inputs.
      cases: the inputs on which parity is proved, from a `Request`.
      agreement: one or more of `Exact`, `Levels`, `Close`, `SameDistribution`, or anything with a `name` and
        `check(port, request) -> Verdict`.
      inputs: `inputs(size, request)` gives the arguments for the measurement; without it all cases are measured
        in one go.
      sizes: what `inputs` is called with, ascending.
      reference_sizes: sizes at which the reference is timed where it cannot reach the largest of `sizes`. Its
        time per item is carried over to the other sizes, and every figure made that way is labelled.
      alternatives: other programs by name (vectorised NumPy, a C library), timed in the same rounds.
      limits: what the rewrite may spend.
      pictures: images for the report.
      tables: further measurements of the port itself.
      deviations: accepted differences, one sentence each, stated in the report.

    Raises:
      ValueError: if the declaration cannot be run as it stands.
    """

    name: str
    claim: str
    reference: Callable[..., Any]
    rewrite: Callable[..., Any]
    cases: Callable[[Request], Sequence[Case]]
    agreement: tuple
    inputs: Callable[[int, Request], tuple] | None = None
    sizes: tuple[int, ...] = ()
    reference_sizes: tuple[int, ...] | None = None
    alternatives: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    limits: Limits = Limits()
    pictures: Callable[[Request], Sequence[Picture]] | None = None
    tables: Callable[[Request], Sequence[Table]] | None = None
    deviations: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_callables(self)
        _check_agreement(self)
        _check_sizes(self)
        if isinstance(self.deviations, str):
            raise ValueError(f"deviations of port {self.name!r} is a string: write a tuple of sentences")


def _check_name(name: str) -> None:
    if not name.strip() or any(letter in name for letter in "/\\"):
        raise ValueError(f"port name {name!r} must be a short word without slashes: files are named after it")


def _check_callables(port: Port) -> None:
    sides = {"reference": port.reference, "rewrite": port.rewrite, "cases": port.cases}
    sides |= {f"alternative {name!r}": side for name, side in port.alternatives.items()}
    sides |= {name: getattr(port, name) for name in ("inputs", "pictures", "tables") if getattr(port, name) is not None}
    for name, side in sides.items():
        if not callable(side):
            raise ValueError(f"{name} of port {port.name!r} is {side!r}: give a function")
    for name in RESERVED:
        if name in port.alternatives:
            raise ValueError(f"an alternative of port {port.name!r} is called {name!r}: that name is taken")


def _check_agreement(port: Port) -> None:
    if not isinstance(port.agreement, tuple):
        raise ValueError(f"agreement of port {port.name!r} must be a tuple, such as `(Exact(),)`: {port.agreement!r}")
    if not port.agreement:
        raise ValueError(f"port {port.name!r} has no agreement: a gain is only reported where something is proved")
    for agreement in port.agreement:
        if isinstance(agreement, type) or not callable(getattr(agreement, "check", None)):
            raise ValueError(
                f"agreement {agreement!r} of port {port.name!r} cannot check anything: build one of Exact(), Levels(), "
                "Close(truth=...) or SameDistribution(...)"
            )


def _check_sizes(port: Port) -> None:
    if bool(port.sizes) != (port.inputs is not None):
        raise ValueError(f"port {port.name!r} needs `inputs` and `sizes`, or neither (then its cases are measured)")
    if port.reference_sizes is not None and not (port.sizes and port.reference_sizes):
        raise ValueError(f"reference_sizes of port {port.name!r} needs a size, and `sizes`: {port.reference_sizes!r}")
    for sizes in (port.sizes, port.reference_sizes or ()):
        if any(size < 1 for size in sizes) or list(sizes) != sorted(set(sizes)):
            raise ValueError(f"sizes of port {port.name!r} must be ascending and at least 1: {sizes!r}")
