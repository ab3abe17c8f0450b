"""Layers with integers for weights: close to the trained ones, honest about bytes, ordinary Flax modules."""

import io

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from jaxkit.compress.layers import QuantConv, QuantDense
from jaxkit.compress.qarray import quantize_array

CONVS = {
    "plain": {"strides": (2, 1), "padding": ((1, 0), (2, 1))},
    "depthwise": {"feature_group_count": 6, "use_bias": False, "padding": 1},
    "dilated": {"kernel_dilation": 2, "padding": "VALID", "feature_group_count": 2},
}


def _snr(found, expected):
    return float(jnp.sum(jnp.square(expected)) / jnp.sum(jnp.square(found - expected)))


@pytest.mark.parametrize("bits, mode, least", [(8, "weight_only", 1e4), (8, "dynamic", 3e3), (4, "weight_only", 50)])
def test_a_dense_layer_is_close_to_its_model(rng, bits, mode, least):
    linear = nnx.Linear(32, 12, rngs=nnx.Rngs(0))
    linear.bias[...] = jnp.asarray(rng.normal(size=12), jnp.float32)
    layer = QuantDense.of(linear, bits=bits, mode=mode, group=8)
    x = jnp.asarray(rng.normal(size=(3, 4, 32)), jnp.float32)
    found = nnx.jit(lambda layer, x: layer(x))(layer, x)
    assert found.shape == (3, 4, 12) and _snr(found, linear(x)) > least
    assert layer.nbytes == 32 * 12 * bits // 8 + 4 * (4 * 12) + 4 * 12


@pytest.mark.parametrize("mode, least", [("weight_only", 1e4), ("dynamic", 2e3)])
@pytest.mark.parametrize("name", CONVS)
def test_a_convolution_is_close_to_its_model(rng, name, mode, least):
    conv = nnx.Conv(6, 12, (3, 2), rngs=nnx.Rngs(0), **CONVS[name])
    layer = QuantConv.of(conv, mode=mode)
    x = jnp.asarray(rng.normal(size=(2, 3, 9, 8, 6)), jnp.float32)
    run = nnx.jit(lambda layer, x: layer(x))
    assert _snr(run(layer, x), conv(x)) > least
    # An example does not depend on those beside it.
    np.testing.assert_allclose(run(layer, x[0, 0]), run(layer, x)[0, 0], rtol=1e-5, atol=1e-6)
    parts = conv.kernel.size, 12, 12 if conv.use_bias else 0
    assert layer.nbytes == parts[0] + 4 * parts[1] + 4 * parts[2]


def test_they_split_merge_and_are_saved_as_arrays(rng):
    layer = QuantDense.of(nnx.Linear(8, 5, rngs=nnx.Rngs(0)), bits=4)
    graph, state = nnx.split(layer)
    assert not jax.tree.leaves(nnx.state(layer, nnx.Param))
    leaves, tree = jax.tree.flatten(state)
    file = io.BytesIO()
    np.savez(file, *map(np.asarray, leaves))
    file.seek(0)
    with np.load(file) as saved:
        back = nnx.merge(graph, jax.tree.unflatten(tree, [saved[name] for name in saved.files]))
    x = jnp.asarray(rng.normal(size=(2, 8)), jnp.float32)
    np.testing.assert_array_equal(back(x), layer(x))
    assert back(x.astype(jnp.bfloat16)).dtype == jnp.bfloat16


def test_what_has_no_form_in_integers_is_refused():
    linear, kernel = nnx.Linear(8, 5, rngs=nnx.Rngs(0)), quantize_array(jnp.ones((3, 5)))
    wrong = [
        (lambda: QuantDense.of(linear, mode="static"), "mode"),
        (lambda: QuantDense.of(linear, bits=2), "bits"),
        (lambda: QuantDense.of(linear, group=3), "do not divide"),
        (lambda: QuantDense(quantize_array(jnp.ones((1, 3, 5)))), "kernel"),
        (lambda: QuantDense(kernel, jnp.ones(3)), "bias"),
        (lambda: QuantConv(kernel), "kernel"),
        (lambda: QuantConv.of(nnx.Conv(2, 2, (3,), padding="CIRCULAR", rngs=nnx.Rngs(0))), "padding"),
        (lambda: QuantConv.of(nnx.Conv(2, 2, (3,), input_dilation=2, rngs=nnx.Rngs(0))), "dilated input"),
    ]
    for call, words in wrong:
        with pytest.raises(ValueError, match=words):
            call()
