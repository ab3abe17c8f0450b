"""Rounding with gradients: the values are those of the integers, the gradients those of PyTorch's own operations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxkit.compress.affine import dequantize, quantize
from jaxkit.compress.fake_quant import fake_quant, straight_through

# Scales are powers of two and values off their ties: PyTorch multiplies by the reciprocal, which then is exact.
SCALE = np.float32(2.0**-6)
ENDS = {"int8": (-128, 127), "uint8": (0, 255)}


def _values(rng, shape=(5, 6, 7)):
    return (rng.integers(-400, 400, shape) + rng.uniform(-0.45, 0.45, shape)).astype(np.float32) * SCALE


@pytest.mark.parametrize("gradient", ["straight", "clipped", "learned"])
@pytest.mark.parametrize("dtype, zero", [("int8", -3), ("uint8", 117)])
def test_values_are_those_of_the_integers_bit_for_bit(rng, gradient, dtype, zero):
    x = (rng.normal(size=(4, 5, 6)) * 3).astype(np.float32)
    scale = rng.uniform(0.001, 0.05, 5).astype(np.float32)
    found = jax.jit(lambda x: fake_quant(x, scale, zero, dtype=dtype, axis=1, gradient=gradient))(x)
    zeros = jnp.full(5, zero)
    integers = quantize(jnp.asarray(x), scale, zeros, dtype=dtype, axis=1)
    np.testing.assert_array_equal(found, dequantize(integers, scale, zeros, axis=1))


@pytest.mark.parametrize("dtype, zero", [("int8", 5), ("uint8", 100)])
def test_clipped_gradients_are_those_of_pytorch(rng, dtype, zero):
    x, pull = _values(rng), rng.normal(size=(5, 6, 7)).astype(np.float32)
    peer = torch.tensor(x, requires_grad=True)
    value = torch.fake_quantize_per_tensor_affine(peer, float(SCALE), zero, *ENDS[dtype])
    value.backward(torch.tensor(pull))
    found, back = jax.vjp(lambda x: fake_quant(x, SCALE, zero, dtype=dtype), x)
    np.testing.assert_array_equal(found, value.detach().numpy())
    np.testing.assert_array_equal(back(pull)[0], peer.grad.numpy())
    straight = jax.grad(lambda x: jnp.vdot(fake_quant(x, SCALE, zero, dtype=dtype, gradient="straight"), pull))(x)
    np.testing.assert_array_equal(straight, pull)


def test_clipped_gradients_of_channels_are_those_of_pytorch(rng):
    x, pull = _values(rng), rng.normal(size=(5, 6, 7)).astype(np.float32)
    scale, zero = SCALE * np.float32(2.0) ** rng.integers(-2, 3, 6).astype(np.float32), rng.integers(-20, 20, 6)
    peer = torch.tensor(x, requires_grad=True)
    where = torch.tensor(scale), torch.tensor(zero, dtype=torch.int32)
    torch.fake_quantize_per_channel_affine(peer, *where, 1, -128, 127).backward(torch.tensor(pull))
    back = jax.vjp(lambda x: fake_quant(x, scale, zero, axis=1), x)[1]
    np.testing.assert_array_equal(back(pull)[0], peer.grad.numpy())


@pytest.mark.parametrize("dtype, zero", [("int8", 5.0), ("uint8", 100.0)])
def test_learned_gradients_are_those_of_pytorch(rng, dtype, zero):
    x, pull = _values(rng), rng.normal(size=(5, 6, 7)).astype(np.float32)
    low, high = ENDS[dtype]
    peers = [torch.tensor(v, requires_grad=True) for v in (x, np.float32([SCALE]), np.float32([zero]))]
    factor = 1 / np.sqrt(x.size * high)
    torch._fake_quantize_learnable_per_tensor_affine(*peers, low, high, factor).backward(torch.tensor(pull))

    def value(x, scale, zero):
        return fake_quant(x, scale, zero, dtype=dtype, gradient="learned")

    found = jax.vjp(value, x, jnp.float32(SCALE), jnp.float32(zero))[1](pull)
    for own, peer in zip(found, peers, strict=True):
        np.testing.assert_allclose(own, peer.grad.numpy().reshape(own.shape), rtol=2e-5, atol=1e-6)


def test_learned_gradients_of_channels_are_those_of_each_alone(rng):
    x = _values(rng)
    scale = np.linspace(0.01, 0.03, 6, dtype=np.float32)

    def loss(x, scale, axis):
        return jnp.sum(jnp.square(fake_quant(x, scale, 0, axis=axis, gradient="learned")))

    found = jax.grad(loss, 1)(x, scale, 1)
    each = [jax.grad(loss, 1)(x[:, i], jnp.float32(scale[i]), None) for i in range(6)]
    np.testing.assert_allclose(found, each, rtol=1e-5)


def test_other_gradients_leave_the_scale_alone(rng):
    for gradient in ("straight", "clipped"):
        pull = jax.grad(lambda s, how=gradient: jnp.sum(fake_quant(jnp.asarray(_values(rng)), s, 0, gradient=how)))
        assert pull(jnp.float32(SCALE)) == 0


def test_a_value_goes_straight_through_with_the_gradient_of_another():
    def joined(x):
        return straight_through(jnp.round(x), x * x)

    value, slope = jax.value_and_grad(joined)(jnp.float32(1.4))
    assert (value, slope) == (1.0, np.float32(2.8))
    assert jax.jvp(joined, (jnp.float32(1.4),), (jnp.float32(1.0),))[1] == np.float32(2.8)


def test_no_values_and_wrong_gradients():
    assert fake_quant(jnp.zeros((0, 3)), jnp.float32(1.0), 0, gradient="learned").shape == (0, 3)
    with pytest.raises(ValueError, match="gradient"):
        fake_quant(jnp.ones(3), jnp.float32(1.0), 0, gradient="none")
