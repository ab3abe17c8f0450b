"""Graphs compute what the functions compute that they were traced from, with everything folded that can be."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from jaxkit.compress.graph import evaluate
from jaxkit.compress.trace import trace
from jaxkit.nn import ConvNorm, InvertedResidual

SHAPE = (1, 12, 9, 8)


def _settle(module, rng):
    """Statistics and weights of batch normalisation as training would leave them."""
    for _, part in nnx.iter_modules(module):
        if isinstance(part, nnx.BatchNorm):
            for variable, low, high in (
                (part.mean, -1, 1),
                (part.bias, -1, 1),
                (part.var, 0.5, 2),
                (part.scale, 0.5, 2),
            ):
                variable[...] = jnp.asarray(rng.uniform(low, high, variable.shape), jnp.float32)
    module.eval()
    return module


def _graph_of(function, rng, shape=SHAPE):
    graph = trace(function, jax.ShapeDtypeStruct(shape, jnp.float32))
    x = jnp.asarray(rng.normal(size=(3, *shape[1:])), jnp.float32)
    np.testing.assert_allclose(jax.jit(graph)(x), function(x), rtol=1e-5, atol=1e-5)
    return graph, Counter(node.op for node in graph.nodes)


def test_a_block_with_gates_becomes_convolutions_and_its_gate(rng):
    settings = {"hidden": 16, "squeeze": 4, "activation": jax.nn.hard_swish, "gate": jax.nn.hard_sigmoid}
    block = _settle(InvertedResidual(8, 8, **settings, rngs=nnx.Rngs(0)), rng)
    _, kinds = _graph_of(block, rng)
    assert kinds == {"conv": 3, "hard_sigmoid": 3, "mul": 3, "mean": 1, "dense": 2, "reshape": 1, "add": 1}


def test_clips_and_normalisation_go_into_the_layer_before(rng):
    layer = _settle(ConvNorm(8, 6, stride=2, activation=jax.nn.relu6, rngs=nnx.Rngs(0)), rng)
    graph, kinds = _graph_of(layer, rng)
    assert kinds == {"conv": 1}
    assert graph.nodes[0].settings["clip"] == (0.0, 6.0)


def test_what_two_users_need_is_not_folded_away(rng):
    layer = _settle(ConvNorm(8, 8, rngs=nnx.Rngs(0)), rng)

    def forked(x):
        y = layer(x)
        return jnp.maximum(y, 0.0) + 2.0 * y

    _, kinds = _graph_of(forked, rng)
    assert kinds == {"conv": 1, "clip": 1, "affine": 1, "add": 1}


def _mean_pool(x):
    return jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 3, 1), (1, 2, 1, 1), "VALID") / 6.0


FUNCTIONS = {
    "pools": lambda x: nnx.max_pool(x, (2, 3), strides=(2, 1)) - _mean_pool(x),
    "joins": lambda x: jnp.concatenate([jnp.tanh(x), 1.0 - x, jnp.exp(-x)], axis=-1),
    "sums": lambda x: jnp.sum(x, axis=(1, 2)) / (jnp.mean(jax.nn.sigmoid(x), axis=(1, 2)) + 1.0),
    "flattens": lambda x: jax.nn.silu(x).reshape(x.shape[0], -1) @ jnp.ones((12 * 9 * 8, 5)) + jnp.arange(5.0)[None],
    "clips twice": lambda x: jnp.clip(jnp.clip(x, -1.0, 0.5), 0.0, 3.0) / jnp.arange(1.0, 9.0).reshape(1, 1, 1, 8),
    "clips apart": lambda x: jnp.minimum(jnp.maximum(x, 1.0), -1.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_plain_functions_are_traced_too(rng, name):
    _graph_of(FUNCTIONS[name], rng)


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda x: jnp.sort(x, axis=-1), "sort"),
        (lambda x: jnp.cumsum(x, axis=1), "cumsum"),
        (lambda x: jnp.ones(3), "does not depend"),
        (lambda x: (x, x), "one result"),
        (lambda x: jnp.sum(x), "reduce_sum"),
    ],
)
def test_what_has_no_place_in_a_graph_is_named(function, words):
    with pytest.raises(ValueError, match=words):
        trace(function, jnp.zeros(SHAPE))


def test_an_example_is_one_example():
    with pytest.raises(ValueError, match="one example"):
        trace(jnp.tanh, jnp.zeros((2, 3)))


def test_every_value_has_a_name(rng):
    graph, _ = _graph_of(FUNCTIONS["sums"], rng)
    values = graph.values(jnp.ones((2, *SHAPE[1:])))
    assert set(values) == {graph.input, *(node.name for node in graph.nodes)}
    with pytest.raises(ValueError, match="no graph knows"):
        evaluate(graph.nodes[0].replace(op="fft"), [])
