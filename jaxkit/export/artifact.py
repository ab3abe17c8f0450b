"""A file for a runtime, beside the network that it was made of: run it, compare it, time it, look into it."""

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from jaxkit.compress.graph import Graph
from jaxkit.compress.quantized import Quantized
from jaxkit.compress.simulate import simulate

Array = np.ndarray
Session = Callable[[Array], Array]
ROWS = 16


class Engine(NamedTuple):
    """How a runtime is used.

    Attributes:
      name: of the runtime.
      open: `(path, threads) -> session`; the session takes float32 `[N, ...]` and returns float32. It may have a method
        `durations(count, seconds)`, seconds of repeated calls on `count` examples, if it runs in another process.
      coverage: `path -> {operation: {"integer" or "float": count}}`, as the runtime will run them.
    """

    name: str
    open: Callable[[Path, int], Session]
    coverage: Callable[[Path], Mapping[str, Mapping[str, int]]]


class Agreement(NamedTuple):
    """How a runtime's results compare with the network's.

    Attributes:
      exact: the share of the values that are equal, in [0, 1]; for integers, equal to half a step.
      largest: the largest difference; in steps of the output's scale where it has one, else in its unit.
      top1: the share of the examples whose largest output is in the same place.
      count: of examples.
    """

    exact: float
    largest: float
    top1: float
    count: int


class Timing(NamedTuple):
    """Seconds for one call: the median of the repetitions, and the quartiles around it."""

    median: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, eq=False)
class Artifact:
    """A file and what it was made of.

    Attributes:
      path: of the file.
      network: what it computes: a `Graph` in float, a `Quantized` in integers.
      engine: the runtime that reads it.
    """

    path: Path
    network: Graph | Quantized
    engine: Engine

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.path.stat().st_size

    @property
    def graph(self) -> Graph:
        """The network in float."""
        return self.network.graph if isinstance(self.network, Quantized) else self.network

    def open(self, *, threads: int = 1) -> Session:
        """A session: `[N, ...]` float32 in, float32 out, on the host."""
        return self.engine.open(self.path, threads)

    def verify(self, inputs: Array, *, threads: int = 1) -> Agreement:
        """Compares the runtime with the network in JAX (the simulator of its integers) on inputs `[N, ...]`.

        Raises:
          ValueError: if there are no inputs.
        """
        if not len(inputs):
            raise ValueError("verify needs at least one input, got none")
        function = simulate(self.network) if isinstance(self.network, Quantized) else self.network
        wanted = in_rows(jax.jit(function), inputs)
        return agreement(in_rows(self.open(threads=threads), inputs), wanted, step=self._step())

    def bench(self, *, threads: int = 1, batch: int = 1, seconds: float = 2.0) -> Timing:
        """Seconds for a call on `batch` examples, repeated for some seconds after a warm-up."""
        session, x = self.open(threads=threads), np.zeros((batch, *self.graph.shape), np.float32)
        within = getattr(session, "durations", None)
        found = within(batch, seconds) if within else durations(session, x, seconds)
        low, median, high = statistics.quantiles(found, n=4)
        return Timing(median, low, high)

    def coverage(self) -> Mapping[str, Mapping[str, int]]:
        """How many operations of each kind the runtime runs on integers, and how many in float."""
        return self.engine.coverage(self.path)

    def _step(self) -> float | None:
        if not isinstance(self.network, Quantized) or self.graph.output not in self.network.values:
            return None
        return float(self.network.values[self.graph.output].scale)


def durations(session: Session, x: Array, seconds: float) -> list[float]:
    """Seconds of each of many calls on `x` after a first one, as many as there is time for, 5 at least."""
    session(x)
    found, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(found) < 5:
        start = time.perf_counter()
        session(x)
        found.append(time.perf_counter() - start)
    return found


def in_rows(function: Callable[[Array], Array], inputs: Array, *, rows: int = ROWS) -> Array:
    """A function of any number of examples on many, `rows` at a time, always the same shape."""
    count = len(inputs)
    filled = np.concatenate([inputs, np.repeat(inputs[-1:], -count % rows, axis=0)])
    parts = [np.asarray(function(filled[i : i + rows])) for i in range(0, len(filled), rows)]
    return np.concatenate(parts)[:count]


def agreement(found: Array, wanted: Array, *, step: float | None = None) -> Agreement:
    """Compares outputs `[N, ...]`; `step` is the distance between two neighbouring values of integers."""
    difference = np.abs(found.astype(np.float64) - wanted)
    same = difference < step / 2 if step else difference == 0
    top = [values.reshape(len(values), -1).argmax(1) for values in (found, wanted)]
    largest = float(difference.max(initial=0.0)) / (step or 1.0)
    return Agreement(float(same.mean()), largest, float((top[0] == top[1]).mean()), len(found))
