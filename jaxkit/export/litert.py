"""Files for LiteRT (TensorFlow Lite), without TensorFlow: float32, or int8 with the very integers of the network.

JAX exports the program, `litert-converter` makes the file in a process of its own, and `ai-edge-litert` runs it: in
this process where it can be imported, else in another one, too.
"""

import importlib.util
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from jaxkit.compress.graph import Graph
from jaxkit.compress.quantized import WITH_WEIGHTS, Quantized
from jaxkit.compress.simulate import per_channel
from jaxkit.export.artifact import Artifact, Engine, in_rows
from jaxkit.export.litert_marks import marked
from jaxkit.export.litert_process import Process, interpreter
from jaxkit.export.litert_worker import Runner

Array = np.ndarray


def to_litert(
    network: Graph | Quantized, path: str | Path, *, batch: int = 1, python: str | Path | None = None
) -> Artifact:
    """Writes a `.tflite` file: float32 in and out, whatever is between.

    Integers are int8 for values, int8 with a scale for each output channel for kernels, int32 for biases, as the 8-bit
    specification of TensorFlow Lite says; they are those of the network, bit for bit.

    Args:
      network: a `Graph`, or a `Quantized` for the target "litert".
      path: of the file.
      batch: examples in one call of the interpreter; a session splits and fills what it is given.
      python: of an environment with the packages litert-converter and ai-edge-litert. Default: this one if it has
        them, else what the variable JAXKIT_LITERT names.

    Raises:
      ImportError: if there is no such environment, with the commands that make one.
      ValueError: if the network was quantized for another target, or an operation cannot be converted.
    """
    path, python = Path(path), interpreter(python)
    graph = _checked(network)
    if type(batch) is not int or batch < 1:
        raise ValueError(f"batch must be at least 1, got {batch!r}")
    spec = jax.ShapeDtypeStruct((batch, *graph.shape), jnp.float32)
    program = export.export(jax.jit(marked(network)), platforms=["cpu"])(spec).mlir_module_serialized
    process = Process(python)
    try:
        answer, file = process.ask("convert", program, integers=isinstance(network, Quantized))
    except RuntimeError as error:
        raise ValueError(f"the network has something that LiteRT does not: {error}") from error
    finally:
        process.close()
    path.write_bytes(sealed(file, answer["layers"], network) if isinstance(network, Quantized) else file)
    return Artifact(path, network, engine(python))


def engine(python: str) -> Engine:
    """LiteRT by the interpreter of an environment that has it."""
    return Engine(
        "litert",
        lambda path, threads: Session(path, threads, python),
        lambda path: _coverage(path, python),
    )


class Session:
    """An interpreter for a file, in this process or in another one, which ends with the session.

    Call it with float32 `[N, ...]`. Use it in a `with` statement, call `close`, or let go of it.
    """

    def __init__(self, path: Path, threads: int, python: str):
        here = importlib.util.find_spec("ai_edge_litert") is not None
        self._runner = Runner(str(path), threads) if here else _Remote(path, threads, python)

    def __call__(self, x: Array) -> Array:
        x = np.ascontiguousarray(x, np.float32)
        return in_rows(self._runner, x, rows=self._runner.rows)

    def durations(self, count: int, seconds: float) -> list[float]:
        """Seconds of calls on `count` examples, measured where the interpreter is."""
        return self._runner.durations(count, seconds)

    def operations(self) -> list[tuple[str, bool]]:
        """The operations of the file and whether each computes on integers alone."""
        return self._runner.operations()

    def close(self) -> None:
        """Ends the other process, if there is one."""
        getattr(self._runner, "close", lambda: None)()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Remote:
    """`litert_worker.Runner` in another process."""

    def __init__(self, path: Path, threads: int, python: str):
        self._process = Process(python)
        self.close = self._process.close
        self.rows = self._process.ask("open", path=str(path.resolve()), threads=threads)[0]["rows"]

    def __call__(self, x: Array) -> Array:
        answer, content = self._process.ask("run", x.tobytes(), shape=x.shape)
        return np.frombuffer(content, np.float32).reshape(answer["shape"])

    def durations(self, count: int, seconds: float) -> list[float]:
        return self._process.ask("durations", count=count, seconds=seconds)[0]["seconds"]

    def operations(self) -> list[tuple[str, bool]]:
        return [tuple(entry) for entry in self._process.ask("operations")[0]["operations"]]


def sealed(file: bytes, places: list[dict[str, Any]], q: Quantized) -> bytes:
    """A file in which every layer on integers has the kernel, the scales and the bias of the network.

    The converter rounds real biases, of which float32 holds 24 bits; here they get all of their 32.

    Args:
      file: what the converter made.
      places: of its layers, by `litert_worker.layers`.
      q: the network.

    Raises:
      ValueError: if a layer is not in the file with its own integers.
    """
    content, left = bytearray(file), list(places)
    for node in q.graph.nodes:
        if node.op not in WITH_WEIGHTS or not q.in_integers(node):
            continue
        layer, scale = q.layers[node.name], q.values[node.inputs[0]].scale
        own = np.asarray(per_channel(np.asarray(layer.kernel.scale), layer.kernel.shape[-1]), np.float32)
        kernel = _channels_first(np.asarray(layer.kernel.values()))
        same = [p for p in left if _holds(content, p["kernel"], kernel) and np.array_equal(_scales(p["kernel"]), own)]
        if not same:
            raise ValueError(f"the converter did not keep the integers of {node.name}: no int8 kernel equals its own")
        chosen = min(same, key=lambda p: _distance(content, p["bias"], layer.bias))
        left.remove(chosen)
        _put_bias(content, chosen["bias"], layer.bias, own * scale, node.name)
    return bytes(content)


def _channels_first(kernel: Array) -> bytes:
    """A kernel `[..., I, O]` as TFLite stores it: `[O, ..., I]`, a depthwise one `[1, h, w, O]`."""
    depthwise = kernel.ndim > 2 and kernel.shape[-2] == 1 and kernel.shape[-1] > 1
    return (kernel if depthwise else np.moveaxis(kernel, -1, 0)).tobytes()


def _holds(content: bytearray, place: dict[str, Any], wanted: bytes) -> bool:
    return content[place["start"] : place["stop"]] == wanted


def _scales(place: dict[str, Any]) -> Array:
    return np.asarray(place["scale"], np.float32)


def _distance(content: bytearray, place: dict[str, Any] | None, bias: Array) -> float:
    found = np.zeros(1, np.int32) if place is None else np.frombuffer(content[place["start"] : place["stop"]], np.int32)
    return float(np.abs(found.astype(np.float64) - bias).max())


def _put_bias(content: bytearray, place: dict[str, Any] | None, bias: Array, scale: Array, name: str) -> None:
    if place is None and not bias.any():
        return
    if place is None or place["stop"] - place["start"] != bias.nbytes or not np.array_equal(_scales(place), scale):
        raise ValueError(f"the converter did not keep the bias of {name} with the scale of its sums")
    content[place["start"] : place["stop"]] = bias.astype("<i4").tobytes()


def _coverage(path: Path, python: str) -> Mapping[str, Mapping[str, int]]:
    found: dict[str, Counter] = {}
    with Session(path, 1, python) as session:
        for name, integer in session.operations():
            found.setdefault(name, Counter())["integer" if integer else "float"] += 1
    return found


def _checked(network: Graph | Quantized) -> Graph:
    if not isinstance(network, Quantized):
        return network
    if network.target.name != "litert":
        raise ValueError(f"the network was quantized for {network.target.name!r}; quantize it for target('litert')")
    return network.graph
