"""A network of the user's, made small and written for a runtime, with a report."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from jaxkit.compress.graph import Graph
from jaxkit.compress.post_training import post_training
from jaxkit.compress.quantized import Quantized
from jaxkit.compress.report import Report, report
from jaxkit.compress.search import RANGES
from jaxkit.compress.target import ISAS, NAMES, target
from jaxkit.compress.trace import trace
from jaxkit.export.artifact import Artifact, in_rows
from jaxkit.export.litert import to_litert
from jaxkit.export.onnx import to_onnx
from jaxkit.export.openvino import to_openvino
from jaxkit.export.xla import to_xla
from jaxkit.jobs.examples import Examples, Preparation, read_examples
from jaxkit.jobs.factory import Network, load_network
from jaxkit.ranges import one_of_names

Listen = Callable[[str, int, int], None]
BATCH = 16
CHECKED = 32  # examples that the runtime is run on
STEPS = 16  # of 255, that an output of the runtime may differ by: OpenVINO's arithmetic is not published
WRITERS: dict[str, tuple[str, Callable[..., Artifact]]] = {
    "onnxruntime": (".onnx", to_onnx),
    "openvino": (".onnx", to_openvino),
    "tensorrt": (".onnx", to_onnx),
    "litert": (".tflite", to_litert),
    "xla": (".jaxexport", to_xla),
}


@dataclass(frozen=True)
class QuantizeJob:
    """What is asked for.

    Args:
      factory: `module:function` or `file.py:function`, see `load_network`.
      calibration: a folder of arrays or pictures, see `read_examples`.
      out: `.onnx`, `.tflite` or `.jaxexport`, as the target wants.
      weights: a `.npz` for the factory.
      target, isa: of the runtime, see `jaxkit.compress.target`.
      ranges, exclude, equalize: see `post_training`.
      size: side of square pictures; None: the factory says the shape of its input.
      mean, std: of pictures in [0, 1], one number or one for each channel.
      labels: a CSV file with a line `name of a file,integer` for each.
      examples: how many are read at most.
      report: a `.json` for the report.
      plot: a `.png` for the report.

    Raises:
      ValueError: for what cannot be done.
    """

    factory: str
    calibration: Path
    out: Path
    weights: Path | None = None
    target: str = "onnxruntime"
    isa: str = "avx2"
    ranges: str = "mse"
    exclude: Sequence[str] = field(default_factory=tuple)
    equalize: bool = False
    size: int | None = None
    mean: Sequence[float] = ()
    std: Sequence[float] = ()
    labels: Path | None = None
    examples: int = 256
    report: Path | None = None
    plot: Path | None = None

    def __post_init__(self) -> None:
        for name, known in (("target", NAMES), ("isa", ISAS), ("ranges", RANGES)):
            one_of_names(name, getattr(self, name), known)
        for path, suffix in ((self.out, WRITERS[self.target][0]), (self.report, ".json"), (self.plot, ".png")):
            if path is not None and path.suffix.lower() != suffix:
                raise ValueError(f"{path} must end in {suffix}")
            if path is not None and not path.parent.is_dir():
                raise ValueError(f"{path} cannot be written: {path.parent} is not a folder")
        if not self.calibration.is_dir():
            raise ValueError(f"{self.calibration} is not a folder")
        if not all(math.isfinite(x) for x in (*self.mean, *self.std)) or any(x <= 0 for x in self.std):
            raise ValueError(f"mean and std must be finite and std positive, got {self.mean} and {self.std}")
        for name in ("size", "examples"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


class Outcome(NamedTuple):
    """What came of it.

    Attributes:
      report: of the network, on the examples of the calibration.
      verified: the runtime agrees with the simulation; None if it was not run.
      facts: name and value of everything worth telling, in order.
      skipped: files that were left out, and why.
    """

    report: Report
    verified: bool | None
    facts: tuple[tuple[str, str], ...]
    skipped: tuple[tuple[Path, str], ...]


def quantize(job: QuantizeJob, listen: Listen | None = None) -> Outcome:
    """Reads, calibrates, writes, runs what was written, and reports.

    Args:
      listen: told `(stage, done, total)`.

    Raises:
      ValueError, OSError: if something given cannot be used.
      ImportError: if a package that writes the file is not installed, with its extra.
    """
    tell = listen or (lambda stage, done, total: None)
    network = load_network(job.factory, job.weights)
    how = _preparation(job, network)
    read = read_examples(job.calibration, how, most=job.examples, labels=job.labels, listen=tell)
    tell("tracing", 0, 1)
    graph = _traced(job, network, how.shape)
    batches = [read.inputs[i : i + BATCH] for i in range(0, len(read.inputs), BATCH)]
    tell("calibrating", 0, 1)
    settings = {"ranges": job.ranges, "exclude": tuple(job.exclude), "equalize": job.equalize}
    q = post_training(graph, batches, target=target(job.target, isa=job.isa), **settings)
    tell("writing", 0, 1)
    artifact = WRITERS[job.target][1](q, job.out)
    verified, facts = _verified(q, artifact, read.inputs[:CHECKED], tell)
    found = report(q, batches, read.labels, reference=graph, listen=tell)
    _written(job, found)
    return Outcome(found, verified, (*_read(read), *_sizes(artifact, found), *facts), read.skipped)


def _preparation(job: QuantizeJob, network: Network) -> Preparation:
    shape = network.shape or (None if job.size is None else (job.size, job.size, 3))
    if shape is None:
        raise ValueError(f"{job.factory} does not say the shape of its input: return (network, shape), or give --size")
    if network.shape and job.size is not None and network.shape[:2] != (job.size, job.size):
        raise ValueError(f"--size {job.size} contradicts the shape {network.shape} of {job.factory}")
    if network.preprocess is not None and (job.mean or job.std):
        raise ValueError("give mean and std, or a function preprocess beside the factory, not both")
    for name in ("mean", "std"):
        if len(getattr(job, name)) not in (0, 1, shape[-1]):
            raise ValueError(f"{name} must be one number or {shape[-1]}, got {getattr(job, name)}")
    return Preparation(shape, job.mean or (0.0,), job.std or (1.0,), network.preprocess)


def _verified(
    q: Quantized, artifact: Artifact, x: np.ndarray, tell: Listen
) -> tuple[bool | None, tuple[tuple[str, str], ...]]:
    """Runs the file in its runtime, if that is here."""
    tell(f"running {artifact.engine.name}", 0, 1)
    if not q.target.tested:
        return None, (("verified", f"no: {q.target.name} has never been run here, the file follows its rules"),)
    try:
        told, covered = artifact.verify(x), artifact.coverage()
    except ImportError as error:
        return None, (("verified", f"no: {error}"),)
    step = 1.0 if q.graph.output in q.values else float(np.abs(in_rows(artifact.open(), x)).max()) / 255 or 1.0
    good = told.largest <= STEPS * step
    words = f"{told.exact:.2%} of the outputs are as simulated, the furthest {told.largest / step:.3g} steps off"
    parts = [f"{op} {n['integer']} of {n['integer'] + n['float']}" for op, n in sorted(covered.items())]
    return good, (("verified", f"{'yes' if good else 'NO'}: {words}"), ("on integers", ", ".join(parts)))


def _traced(job: QuantizeJob, network: Network, shape: tuple[int, ...]) -> Graph:
    try:
        return trace(network.function, jax.ShapeDtypeStruct((1, *shape), np.float32))
    except Exception as error:  # It runs the user's code.
        wanted = ", ".join(map(str, shape))
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"{job.factory} cannot be traced on inputs [N, {wanted}]: {reason}") from error


def _read(read: Examples) -> tuple[tuple[str, str], ...]:
    skipped = f", {len(read.skipped)} left out" if read.skipped else ""
    return (("examples", f"{len(read.inputs):,} from {read.files:,} files{skipped}; for calibration and report"),)


def _sizes(artifact: Artifact, found: Report) -> tuple[tuple[str, str], ...]:
    share = f"{artifact.size / max(found.bytes_float, 1):.3f} of what the parameters take in float"
    return (("file", f"{artifact.size:,} bytes, {share}"),)


def _written(job: QuantizeJob, found: Report) -> None:
    if job.report is not None:
        job.report.write_text(found.json())
    if job.plot is not None:
        found.plot(job.plot)
