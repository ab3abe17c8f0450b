"""What a project has: a Flax network, compiled once and called on batches. This is not handicapped in any way."""

from collections.abc import Callable
from functools import cache

import jax
import numpy as np
from flax import nnx

from .network import loaded


@cache
def compiled() -> Callable[[np.ndarray], jax.Array]:
    """Float32 `[N, 224, 224, 3]` to logits `[N, 1000]`."""
    # Split once: nnx.jit would walk through all modules at every call, some milliseconds of Python.
    definition, state = nnx.split(loaded())
    run = jax.jit(lambda state, x: nnx.merge(definition, state)(x))
    return lambda pictures: run(state, pictures)


def classify(pictures: np.ndarray) -> jax.Array:
    """Logits `[N, 1000]` float32 of pictures `[N, 224, 224, 3]` float32."""
    return compiled()(pictures)


@cache
def compiled_exactly() -> Callable[[np.ndarray], np.ndarray]:
    with jax.enable_x64(True):
        definition, state = nnx.split(loaded())
        state = jax.tree.map(lambda leaf: leaf.astype(np.float64) if leaf.dtype == np.float32 else leaf, state)
    run = jax.jit(lambda state, x: nnx.merge(definition, state)(x))
    return lambda pictures: run(state, pictures)


def classify_exactly(pictures: np.ndarray) -> np.ndarray:
    """The same network in float64: the truth that both sides are measured against."""
    with jax.enable_x64(True):
        return np.asarray(compiled_exactly()(pictures.astype(np.float64)))
