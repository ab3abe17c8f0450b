"""Files for XLA: a compiled-for-anything program by `jax.export`, which runs without the Python code of the network."""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

from jaxkit.compress.graph import Graph
from jaxkit.compress.qarray import QArray
from jaxkit.compress.quantized import Layer, Quantized
from jaxkit.compress.simulate import simulate
from jaxkit.export.artifact import Artifact, Engine, Session, in_rows
from jaxkit.ranges import one_of_names

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
OPERATION = re.compile(r"stablehlo\.(convolution|dot_general|multiply|add|reduce_window|reduce)\b.*tensor<([^>]*)>")


def to_xla(
    network: Graph | Quantized, path: str | Path, *, platforms: Sequence[str] = ("cpu",), batch: int | None = None
) -> Artifact:
    """Writes a serialised StableHLO program, which `jax.export.deserialize` reads in any program that has JAX.

    The integers of kernels are in the file as they are, int8 or int4, and become float32 where they are used: the file
    is small, and the arithmetic is that of the simulator, or of float for a `Quantized` that has integers for its
    weights alone.

    Args:
      network: a `Graph` in float, or a `Quantized` for any target.
      path: of the file.
      platforms: "cpu", "cuda", "rocm", "tpu": those for which there is a program in the file.
      batch: examples in one call; a session splits and fills what it is given. None: any number.

    Raises:
      ValueError: if there is no such platform, or `batch` is below 1, or an operation has no rule on integers.
    """
    path = Path(path)
    for name in platforms:
        one_of_names("platforms", name, PLATFORMS)
    if batch is not None and (type(batch) is not int or batch < 1):
        raise ValueError(f"batch must be at least 1, or None for any number, got {batch!r}")
    graph = network.graph if isinstance(network, Quantized) else network
    rows = export.symbolic_shape("n")[0] if batch is None else batch
    spec = jax.ShapeDtypeStruct((rows, *graph.shape), jnp.float32)
    exported = export.export(jax.jit(_function(network)), platforms=tuple(platforms))(spec)
    path.write_bytes(exported.serialize())
    return Artifact(path, network, Engine("xla", _open, _coverage))


def _function(network: Graph | Quantized) -> Callable[[jax.Array], jax.Array]:
    if not isinstance(network, Quantized):
        return lambda x: network(x)

    def run(x: jax.Array) -> jax.Array:
        layers = {name: _stored(layer) for name, layer in network.layers.items()}
        return simulate(dataclasses.replace(network, layers=layers))(x)

    return run


def _stored(layer: Layer) -> Layer:
    """A layer whose integers are read by the program. Without a barrier JAX would store what is computed of them."""
    kernel = layer.kernel
    return layer._replace(kernel=QArray(lax.optimization_barrier(jnp.asarray(kernel.stored)), *_rest(kernel)))


def _rest(kernel: QArray) -> tuple[Any, ...]:
    return np.asarray(kernel.scale), kernel.shape, kernel.bits


def _open(path: Path, threads: int) -> Session:
    """A session. XLA takes the threads of its process, whatever `threads` says."""
    del threads
    exported = export.deserialize(bytearray(path.read_bytes()))
    call, rows = jax.jit(exported.call), exported.in_avals[0].shape[0]
    if not isinstance(rows, int):
        return lambda x: np.asarray(call(x))
    return lambda x: in_rows(call, x, rows=rows)


def _coverage(path: Path) -> Mapping[str, Mapping[str, int]]:
    """Counts of the operations that do the work, by the type of their results."""
    text = export.deserialize(bytearray(path.read_bytes())).mlir_module()
    found: dict[str, dict[str, int]] = {}
    for name, kind in OPERATION.findall(text):
        real = kind.endswith(("f32", "bf16", "f16"))
        found.setdefault(name, {"integer": 0, "float": 0})["float" if real else "integer"] += 1
    return found
