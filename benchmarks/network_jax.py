"""EfficientNet-Lite0 in JAX, as somebody would write it in Flax and as jaxkit runs it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from flax import nnx

from jaxkit.compress import Graph, trace
from jaxkit.nn import EfficientNetLite, load_torch

SIDE = 224
STOCK, FAST, FOLDED = "stock", "fast", "folded"


def network(weights: str | Path, *, convolution: Callable | None = None) -> EfficientNetLite:
    """The network for inference, with weights `[O, I, H, W]` by their names in PyTorch, of a `.npz` file.

    Args:
      weights: path of the file.
      convolution: what its convolutions run. Default: jaxkit's.
    """
    module = unfilled(lambda: EfficientNetLite(rngs=nnx.Rngs(0)))
    with np.load(weights) as state:
        load_torch(module, dict(state))
    if convolution is not None:
        replace_convolutions(module, convolution)
    module.eval()
    return module


def zeros(path: Any, leaf: Any) -> jax.Array:
    del path
    return jax.device_put(np.zeros(leaf.shape, leaf.dtype))


def unfilled(build: Callable[[], nnx.Module], *, fill: Callable[[Any, Any], jax.Array] = zeros) -> nnx.Module:
    """A module with what `fill` gives for a path and a shape: to draw weights takes half a minute to compile."""
    definition, state = nnx.split(nnx.eval_shape(build))
    key = jax.random.key(0)

    def filled(path: Any, leaf: Any) -> jax.Array:
        return key if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else fill(path, leaf)

    return nnx.merge(definition, jax.tree_util.tree_map_with_path(filled, state))


def replace_convolutions(module: nnx.Module, convolution: Callable) -> None:
    """Lets every convolution of a module run another function, in place."""
    for _, part in nnx.iter_modules(module):
        if isinstance(part, nnx.Conv):
            part.conv_general_dilated = convolution


def folded(weights: str | Path) -> Graph:
    """The network as a graph, with its normalisation folded into its weights."""
    return trace(network(weights), jax.ShapeDtypeStruct((1, SIDE, SIDE, 3), np.float32))


def stock() -> nnx.Module:
    """The network of the port `small_net`, in plain Flax."""
    from ports.small_net.network import loaded

    return loaded()


def open_session(*, kind: str, weights: str, threads: int) -> Callable[[Any], np.ndarray]:
    """A compiled function of float32 `[N, 224, 224, 3]`, from a NumPy array to a NumPy array.

    Args:
      kind: "stock" (plain Flax), "fast" (jaxkit.nn) or "folded" (the graph).
      weights: path of the `.npz` file.
      threads: unused, XLA's are set for the process.
    """
    del threads
    if kind == FOLDED:
        run = jax.jit(folded(weights))
    else:
        definition, state = nnx.split(stock() if kind == STOCK else network(weights))
        compiled = jax.jit(lambda state, x: nnx.merge(definition, state)(x))
        run = lambda x: compiled(state, x)  # noqa: E731
    return lambda x: np.asarray(run(x))
