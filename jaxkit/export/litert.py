"""Files for LiteRT (TensorFlow Lite), without TensorFlow: float32, or int8 with the very integers of the network.

JAX exports the program; `litert-converter` and `ai-edge-litert`, in a process of their own, make the file and run it.
"""

from collections.abc import Mapping
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from jaxkit.compress.graph import Graph
from jaxkit.compress.quantized import Quantized
from jaxkit.export.artifact import Artifact, Engine
from jaxkit.export.litert_integers import sealed
from jaxkit.export.litert_marks import marked
from jaxkit.export.litert_process import Process, Session, interpreter


def to_litert(
    network: Graph | Quantized, path: str | Path, *, batch: int = 1, python: str | Path | None = None
) -> Artifact:
    """Writes a `.tflite` file: float32 in and out, whatever is between.

    Results are those of `simulate` to the last bit wherever that has a rule on integers, padded or gated layers
    included. Averages of windows, quotients, square roots and joins of unlike scales run in float between integers, as
    the int8 kernels of LiteRT round them more than once; so do hard sigmoids and scales and shifts, which have none.

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
        raise ValueError(f"the network cannot be a LiteRT file: {error}") from error
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


def _coverage(path: Path, python: str) -> Mapping[str, Mapping[str, int]]:
    found: dict[str, dict[str, int]] = {}
    with Session(path, 1, python) as session:
        for name, integer in session.operations():
            found.setdefault(name, {"integer": 0, "float": 0})["integer" if integer else "float"] += 1
    return found


def _checked(network: Graph | Quantized) -> Graph:
    if not isinstance(network, Quantized):
        return network
    if network.target.name != "litert":
        raise ValueError(f"the network was quantized for {network.target.name!r}; quantize it for target('litert')")
    for name, at in network.values.items():
        if not (0 < at.scale < float("inf")):
            raise ValueError(f"{name} has the scale {at.scale}, which stands for no real values")
    for name, layer in network.layers.items():
        # The converter would die of it without a word.
        if not np.all((np.asarray(layer.kernel.scale) > 0) & np.isfinite(layer.kernel.scale)):
            raise ValueError(f"the kernel of {name} has scales that are not positive and finite")
    return network.graph
