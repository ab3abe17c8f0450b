"""Ways from a network in float to one in integers, jaxkit's and those of its peers, and what each is worth."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.network_case import FOR_VNNI, INTEGERS, SESSIONS, Case, agreement, opened
from benchmarks.network_process import HERE, PeerError, Worker
from benchmarks.timing import Spread

JAXKIT, TOOL, DEFAULT = "jaxkit", "onnxruntime.quantization", "by default"
KINDS = {"as it is": "float", DEFAULT: INTEGERS, "isa=vnni": FOR_VNNI}
RUNTIMES = tuple(SESSIONS)
PATIENCE = 0.05
FLOAT = {"path": "float.onnx"}


class Method(NamedTuple):
    """A way to integers, and where they run.

    Attributes:
      name, how: the library, and its settings.
      runtime: a name in `SESSIONS`, or the library itself.
      quantizer: environment and module of its `quantize`; None for what jaxkit has written already.
      given: settings for that.
      source, file: what it reads and writes, names in the folder of the case.
      session: more arguments for the session.
    """

    name: str
    how: str
    runtime: str
    quantizer: tuple[str, str] | None = None
    given: dict[str, Any] = {}
    source: str = ""
    file: str = ""
    session: dict[str, Any] = {}

    @property
    def title(self) -> str:
        return f"{self.name}, {self.how}, in {self.runtime}"


def onnxruntime(how: str, method: str, *, reduce: bool = False, channel: bool = False, exact: bool = False) -> Method:
    given = {"method": method, "reduce_range": reduce, "per_channel": channel}
    quantizer = (HERE, "benchmarks.peers_onnxruntime_quantization")
    name = f"tool_{method}_{reduce:d}{channel:d}.onnx"
    return Method(TOOL, how, "ONNX Runtime", quantizer, given, "float.onnx", name, {"exact": True} if exact else {})


def litert(method: str) -> Method:
    quantizer = ("litert", "benchmarks.peers_litert_quantizer")
    name = f"tool_{method.replace(', ', '_').replace(' ', '_')}.tflite"
    return Method("litert-quantizer", method, "LiteRT", quantizer, {"method": method}, "float_1.tflite", name)


def nncf(method: str) -> Method:
    quantizer, name = ("nncf", "benchmarks.peers_nncf"), f"nncf_{method.replace(' ', '_')}.xml"
    return Method("NNCF", method, "OpenVINO", quantizer, {"method": method}, "float.onnx", name)


METHODS = (
    *(Method("float", "as it is", runtime) for runtime in RUNTIMES),
    *(Method(JAXKIT, DEFAULT, runtime) for runtime in RUNTIMES),
    Method(JAXKIT, "isa=vnni", "ONNX Runtime"),
    onnxruntime("minmax", "minmax"),
    onnxruntime("minmax, x64quantprecision", "minmax", exact=True),
    onnxruntime("minmax, reduce_range", "minmax", reduce=True),
    onnxruntime("minmax, per channel", "minmax", channel=True),
    onnxruntime("minmax, per channel, reduce_range", "minmax", channel=True, reduce=True),
    onnxruntime("entropy, per channel", "entropy", channel=True),
    onnxruntime("percentile, per channel", "percentile", channel=True),
    litert("dynamic"),
    litert("static"),
    litert("static, 16-bit values"),
    nncf("default"),
    nncf("overflow fix"),
    Method("qwix", "w8a8, dynamic", "JAX", ("qwix", "benchmarks.peers_qwix")),
)
SLOW = ("entropy, per channel", "percentile, per channel", "static, 16-bit values")


class Quality(NamedTuple):
    """What a method gave.

    Attributes:
      top1, decibels: agreement with float, and signal-to-noise ratio of the logits.
      bytes, share: of the file, and as a share of the file in float.
      exact: the share of logits that are those of jaxkit's simulator; None for peers.
      ms: a picture in one thread; None if it was not timed.
      error: why there is none of that.
    """

    name: str
    how: str
    runtime: str
    top1: float = 0.0
    decibels: float = 0.0
    bytes: int = 0
    share: float = 0.0
    exact: float | None = None
    ms: Spread | None = None
    error: str = ""


def quantize_all(case: Case, methods: list[Method], worker: Callable[..., Worker]) -> dict[str, str]:
    """Lets all peers write their files. Returns title to reason for those that failed."""
    files = {method.file: method for method in methods if method.quantizer and method.file}
    failed = {}
    for file, method in files.items():
        try:
            quantize(case, method, worker(*method.quantizer, 2))
        except PeerError as error:
            failed[file] = str(error)
    return {method.title: failed[method.file] for method in methods if method.file in failed}


def quantize(case: Case, method: Method, worker: Worker) -> None:
    source = case.folder / method.source
    if not source.is_file():
        raise PeerError(case.missing.get(method.runtime, f"there is no {method.source}"))
    files = {"model": str(source), "pictures": str(case.calibration), "output": str(case.folder / method.file)}
    worker.ask("call", module=method.quantizer[1], function="quantize", given=files | method.given)


def place(case: Case, method: Method) -> tuple[str, str, dict[str, Any]]:
    """Environment, module and arguments of a method's session."""
    if method.quantizer is None:
        return opened(case, method.runtime, KINDS[method.how])
    if not method.file:
        return *method.quantizer, {"weights": str(case.weights)}
    return *SESSIONS[method.runtime], {"path": str(case.folder / method.file), **method.session}


def quality(case: Case, method: Method, worker: Callable[..., Worker]) -> tuple[Quality, Callable[[], float] | None]:
    """What a method is worth, and a call that measures milliseconds a picture; a reason and None if it failed."""
    try:
        environment, module, given = place(case, method)
        process, output = worker(environment, module, 1), case.folder / "outputs.npy"
        process.ask("open", name=method.title, module=module, given=given | {"threads": 1})
        process.ask("run", name=method.title, inputs=str(case.test), outputs=str(output))
        size = bytes_of(case, given) or process.ask("call", module=module, function="size", given=given)
    except PeerError as error:
        return Quality(*method[:3], error=str(error)), None
    top1, decibels = agreement(np.load(output), case.logits)
    exact = case.agreements[method.runtime, KINDS[method.how]].exact if method.name == JAXKIT else None
    found = Quality(*method[:3], top1, decibels, size, size / bytes_of(case, FLOAT), exact)
    shape = [1, *case.graph.shape]
    return found, lambda: process.ask("milliseconds", name=method.title, shape=shape, seconds=PATIENCE)


def bytes_of(case: Case, given: dict[str, Any]) -> int:
    """Of the file that a session opens, 0 if it opens none; OpenVINO's have the weights in another one."""
    path = case.folder / given.get("path", "none")
    return sum(part.stat().st_size for part in {path, path.with_suffix(".bin")} if part.is_file())
