"""Derivatives of programs, against finite differences in float64 and against the same formula in PyTorch."""

import jax
import jax.numpy as jnp
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from jaxkit.interop.torch import torch_compatible


def doubles(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def weighted(module, x, w):
    return (module.sin(x) * w * w).sum()


weighted_jax = torch_compatible(jax.jit(lambda x, w: weighted(jnp, x, w)))


def weighted_torch(x, w):
    return weighted(torch, x, w)


def test_gradients_and_double_backward_of_every_argument():
    @torch_compatible
    @jax.jit
    def fn(a, b, n, *, c):
        return {"y": jnp.sin(a) * b.sum() + b, "z": [c * c * a[0]], "n": n + 1}

    a, b, c, n = doubles(3, 4), doubles(3, 4, seed=1), doubles(4, seed=2), torch.arange(3)

    def results(a, b, c):
        out = fn(a, b, n, c=c)
        return out["y"], out["z"][0]

    with jax.enable_x64(True):
        assert gradcheck(results, (a, b, c))
        assert gradgradcheck(results, (a, b, c))


def test_complex_gradients_follow_torch():
    fn = torch_compatible(jax.jit(lambda z, x: (z * z * jnp.conj(z) + x.astype(z.dtype), jnp.abs(z) ** 2)))
    with jax.enable_x64(True):
        inputs = doubles(3, dtype=torch.complex128), doubles(3)
        assert gradcheck(fn, inputs)
        assert gradgradcheck(fn, inputs)


def test_gradient_of_the_second_argument_alone():
    x, w = torch.tensor([0.5, 1.0]), torch.tensor([2.0, 3.0], requires_grad=True)
    weighted_jax(x, w).backward()
    torch.testing.assert_close(w.grad, 2 * torch.sin(x) * w.detach())
    assert x.grad is None


def test_an_expanded_cotangent():
    x = torch.ones(3, requires_grad=True)
    torch_compatible(jax.jit(lambda x: x * 2))(x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_unused_and_integer_arguments():
    x, unused, n = torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True), torch.tensor([1, 2, 3])
    y, count = torch_compatible(jax.jit(lambda x, unused, n: (x * n.astype(x.dtype), n.sum())))(x, unused, n)
    assert y.requires_grad and not count.requires_grad and count.item() == 6
    y.sum().backward()
    assert x.grad.tolist() == [1, 2, 3]
    assert unused.grad.tolist() == [0, 0]


def test_results_without_a_cotangent_count_as_zero():
    x = torch.ones(3, requires_grad=True)
    first, _ = torch_compatible(jax.jit(lambda x: (x * 2, x * 5)))(x)
    first.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
def test_func_grad(argnums):
    x, w = doubles(4).float().detach(), doubles(4, seed=1).float().detach()
    torch.testing.assert_close(
        torch.func.grad(weighted_jax, argnums)(x, w), torch.func.grad(weighted_torch, argnums)(x, w)
    )


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: lambda x, w: torch.func.vmap(f, in_dims=(0, None))(x, w[0]),
        lambda f: torch.func.vmap(f, in_dims=(1, 1)),
        lambda f: lambda x, w: torch.func.vmap(torch.func.grad(f), in_dims=(0, None))(x, w[0]),
        lambda f: lambda x, w: torch.func.grad(lambda w: torch.func.vmap(f, in_dims=(0, None))(x, w).sum())(w[0]),
        lambda f: lambda x, w: torch.func.grad(lambda w: torch.func.grad(f)(x[0], w).sum())(w[:, 0]),
        lambda f: torch.func.vmap(torch.func.vmap(f)),
        lambda f: lambda x, w: torch.func.jacrev(torch.func.grad(f))(x[0], w[:, 0]),
    ],
)
def test_vmap_and_grad_nest(transform):
    x, w = doubles(4, 4).float().detach(), doubles(4, 4, seed=1).float().detach()
    torch.testing.assert_close(transform(weighted_jax)(x, w), transform(weighted_torch)(x, w))


def test_vmap_of_integers():
    double = torch_compatible(jax.jit(lambda image: image // 2))
    images = torch.arange(12, dtype=torch.uint8).reshape(3, 4)
    assert torch.equal(torch.func.vmap(double)(images), images // 2)


def test_backward_after_64_bit_mode_was_left():
    x = doubles(3)
    with jax.enable_x64(True):
        y = torch_compatible(jax.jit(lambda x: x**3))(x)
    y.sum().backward()
    assert x.grad.dtype == torch.float64
    torch.testing.assert_close(x.grad, 3 * x.detach() ** 2)


def test_backward_from_another_thread():
    import threading

    x = torch.ones(3, requires_grad=True)
    y = weighted_jax(x, x)
    worker = threading.Thread(target=y.backward)
    worker.start()
    worker.join()
    torch.testing.assert_close(x.grad, torch.func.grad(lambda x: weighted_torch(x, x))(x.detach()))


def test_a_write_between_forward_and_backward_is_noticed():
    w = torch.ones(3, requires_grad=True)
    x = torch.ones(3)
    y = weighted_jax(x, w)
    x.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_autocast_passes_bfloat16_through():
    layer = torch.nn.Linear(4, 4)
    with torch.autocast("cpu", torch.bfloat16):
        hidden = layer(torch.ones(2, 4))
        y = torch_compatible(jax.jit(lambda h: h * h))(hidden)
    assert hidden.dtype == y.dtype == torch.bfloat16
    y.float().sum().backward()
    expected = torch.autograd.grad((layer(torch.ones(2, 4)) ** 2).sum(), layer.weight)[0]
    torch.testing.assert_close(layer.weight.grad, expected, rtol=0.05, atol=0.05)


def test_gradients_compile_once():
    traces = []

    @jax.jit
    def square(x):
        traces.append(x.shape)
        return x * x

    fn = torch_compatible(square)
    counts = []
    for _ in range(4):
        x = torch.randn(3, requires_grad=True)
        (gradient,) = torch.autograd.grad(fn(x).sum(), x, create_graph=True)
        gradient.sum().backward()
        assert x.grad.tolist() == [2, 2, 2]
        counts.append(len(traces))
    assert len(set(counts)) == 1
