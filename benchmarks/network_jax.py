"""EfficientNet-Lite0 in JAX, as somebody would write it in Flax and as jaxkit runs it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from flax import nnx
from jax import lax

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


def unfilled(build: Callable[[], nnx.Module]) -> nnx.Module:
    """A module full of zeros: to draw weights that are replaced at once takes half a minute to compile."""
    definition, state = nnx.split(nnx.eval_shape(build))
    key = jax.random.key(0)
    return nnx.merge(definition, jax.tree.map(lambda leaf: key if is_key(leaf) else zeros(leaf), state))


def is_key(leaf: Any) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def zeros(leaf: Any) -> jax.Array:
    return jax.device_put(np.zeros(leaf.shape, leaf.dtype))


def replace_convolutions(module: nnx.Module, convolution: Callable) -> None:
    """Lets every convolution of a module run another function, in place."""
    for _, part in nnx.iter_modules(module):
        if isinstance(part, nnx.Conv):
            part.conv_general_dilated = convolution


def folded(weights: str | Path) -> Graph:
    """The network as a graph, with its normalisation folded into its weights."""
    return trace(network(weights), jax.ShapeDtypeStruct((1, SIDE, SIDE, 3), np.float32))


def open_session(*, kind: str, weights: str, threads: int) -> Callable[[Any], np.ndarray]:
    """A compiled function of float32 `[N, 224, 224, 3]`, from a NumPy array to a NumPy array.

    Args:
      kind: "stock" (XLA's convolutions), "fast" (jaxkit's) or "folded" (the graph).
      weights: path of the `.npz` file.
      threads: unused, XLA's are set for the process.
    """
    del threads
    if kind == FOLDED:
        run = jax.jit(folded(weights))
    else:
        settings = {"convolution": lax.conv_general_dilated} if kind == STOCK else {}
        definition, state = nnx.split(network(weights, **settings))
        compiled = jax.jit(lambda state, x: nnx.merge(definition, state)(x))
        run = lambda x: compiled(state, x)  # noqa: E731
    return lambda x: np.asarray(run(x))
