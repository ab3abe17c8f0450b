"""qwix on the network in Flax: weights in int8, values in int8 with scales found anew for every batch."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import qwix
from flax import nnx
from jax import lax

from benchmarks.network_jax import SIDE, network


def quantized(weights: str) -> nnx.Module:
    """The stock network, its convolutions and dense layers run in integers by qwix."""
    picture = jnp.zeros((1, SIDE, SIDE, 3), jnp.float32)
    rule = qwix.QuantizationRule(weight_qtype=jnp.int8, act_qtype=jnp.int8)
    module = network(weights, convolution=lax.conv_general_dilated)
    # Compiled at once: op by op this takes a minute.
    return nnx.jit(qwix.quantize_model, static_argnums=1)(module, qwix.PtqProvider([rule]), picture)


def size(*, weights: str) -> int:
    """Bytes of its arrays; qwix has no file of its own."""
    return sum(leaf.nbytes for leaf in jax.tree.leaves(nnx.state(quantized(weights))) if hasattr(leaf, "nbytes"))


def open_session(*, weights: str, threads: int) -> Callable[[Any], np.ndarray]:
    """A compiled function of float32 `[N, 224, 224, 3]`."""
    del threads
    definition, state = nnx.split(quantized(weights))
    run = jax.jit(lambda state, x: nnx.merge(definition, state)(x))
    return lambda x: np.asarray(run(state, x))
