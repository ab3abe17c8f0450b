"""EfficientNet-Lite0 with its real weights, real pictures, and the files that jaxkit makes of it."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks.network_jax import folded
from benchmarks.network_process import HERE, NOT_INSTALLED, PeerError
from jaxkit.compress import Graph, observed, post_training, target
from jaxkit.export.artifact import Agreement, Artifact, in_rows
from jaxkit.export.litert import to_litert
from jaxkit.export.onnx import to_onnx
from jaxkit.export.openvino import to_openvino
from ports.small_net.network import weights
from ports.small_net.pictures import crops, normalised

SESSIONS = {
    "ONNX Runtime": (HERE, "benchmarks.peers_onnxruntime"),
    "OpenVINO": (HERE, "benchmarks.peers_openvino"),
    "LiteRT": ("litert", "benchmarks.peers_litert"),
}
INTEGERS, FOR_VNNI = "int8", "int8_vnni"
TARGETS = {
    ("ONNX Runtime", INTEGERS): target("onnxruntime"),
    ("ONNX Runtime", FOR_VNNI): target("onnxruntime", isa="vnni"),
    ("OpenVINO", INTEGERS): target("openvino"),
    ("LiteRT", INTEGERS): target("litert"),
}
WRITERS: dict[str, Callable[[Any, str, int], Artifact]] = {
    "ONNX Runtime": lambda network, name, batch: to_onnx(network, f"{name}.onnx"),
    "OpenVINO": lambda network, name, batch: to_openvino(network, f"{name}.ov.onnx"),
    "LiteRT": lambda network, name, batch: to_litert(network, f"{name}_{batch}.tflite", batch=batch),
}
BATCHES = (1, 16)
ROWS, BINS = 8, 2048


class Case(NamedTuple):
    """What all sides work on: files in one folder.

    Attributes:
      folder: of the files.
      graph: the network in float.
      logits: of the test pictures in float32, by the graph in JAX.
      files: what jaxkit wrote: (runtime, "float", "int8" or "int8_vnni", batch) to a path; only LiteRT's files depend
        on the batch.
      agreements: of the runtimes with jaxkit's simulator, on the test pictures.
      missing: runtime to why it has no files.
    """

    folder: Path
    graph: Graph
    logits: np.ndarray
    files: dict[tuple[str, str, int], Path]
    agreements: dict[tuple[str, str], Agreement]
    missing: dict[str, str]

    @property
    def weights(self) -> Path:
        return self.folder / "weights.npz"

    @property
    def calibration(self) -> Path:
        return self.folder / "calibration.npy"

    @property
    def test(self) -> Path:
        return self.folder / "test.npy"


def make(folder: Path, *, every: int = 1) -> Case:
    """Writes weights and pictures; only some of these, if `every` is more than 1."""
    np.savez(folder / "weights.npz", **weights())
    calibration, test = (normalised(part) for part in crops())
    np.save(folder / "calibration.npy", calibration[::every])
    np.save(folder / "test.npy", test[::every])
    graph = folded(folder / "weights.npz")
    return Case(folder, graph, in_rows(jax.jit(graph), test[::every]), {}, {}, {})


def write_floats(case: Case) -> None:
    """Writes the files in float; what cannot be written is noted in `missing`."""
    for runtime, writer in WRITERS.items():
        try:
            written(case, runtime, "float", case.graph, writer)
        except (ImportError, ValueError, RuntimeError) as error:
            case.missing[runtime] = first_line(error)


def write_integers(case: Case) -> None:
    """Calibrates once, writes the files of integers, and compares what runtimes make of them with the simulator."""
    given = np.load(case.calibration)
    seen = observed(case.graph, [given[i : i + ROWS] for i in range(0, len(given), ROWS)], bins=BINS)
    for (runtime, kind), wanted in TARGETS.items():
        if runtime in case.missing:
            continue
        try:
            network = post_training(case.graph, seen, target=wanted)
            made = written(case, runtime, kind, network, WRITERS[runtime])
            case.agreements[runtime, kind] = made.verify(np.load(case.test))
        except (ImportError, ValueError, RuntimeError) as error:
            case.missing[runtime] = first_line(error)


def written(case: Case, runtime: str, kind: str, network: Any, writer: Callable) -> Artifact:
    """Writes for every batch, that of one example last."""
    for batch in sorted(BATCHES, reverse=True):
        made = writer(network, str(case.folder / kind), batch)
        case.files[runtime, kind, batch] = made.path
    return made


def first_line(error: Exception) -> str:
    if isinstance(error, ImportError):
        return f"{NOT_INSTALLED} ({error})".split(",")[0].splitlines()[0] + ")"
    return f"{type(error).__name__}: {error}".splitlines()[0]


def opened(case: Case, runtime: str, kind: str, batch: int = 1) -> tuple[str, str, dict[str, Any]]:
    """Environment, module and arguments of the session for one of jaxkit's files.

    Raises:
      PeerError: if there is no such file.
    """
    if (runtime, kind, batch) not in case.files:
        raise PeerError(case.missing.get(runtime, "no file"))
    return *SESSIONS[runtime], {"path": str(case.files[runtime, kind, batch])}


def agreement(found: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    """The share of equal largest logits, and the signal-to-noise ratio of all logits in dB."""
    noise = float(np.square(found - wanted, dtype=np.float64).sum())
    signal = float(np.square(wanted, dtype=np.float64).sum())
    ratio = 10 * math.log10(signal / noise) if noise else math.inf
    return float((found.argmax(1) == wanted.argmax(1)).mean()), ratio
