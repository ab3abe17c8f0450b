"""Sharing for a block: nothing copied, and every write, resize or escape noticed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxkit.interop.torch import borrow


@jax.jit
def slow_sum(x):
    return jax.lax.fori_loop(0, 30, lambda _, y: jnp.tanh(y @ x * 1e-3) + x, x).sum()


def test_memory_is_shared_and_returned():
    tensor = torch.arange(64.0)
    with borrow({"x": tensor, "n": 3}) as shared:
        assert shared["x"].unsafe_buffer_pointer() == tensor.data_ptr() and shared["n"] == 3
        total = shared["x"].sum()
    tensor.fill_(-1)
    assert total == 64 * 63 / 2
    with pytest.raises(RuntimeError, match="deleted"):
        shared["x"] + 1


def test_exit_waits_for_jax():
    tensor = torch.ones(500, 500)
    with jax.enable_x64(False), borrow(tensor) as shared:
        result = slow_sum(shared)
    tensor.zero_()
    assert result.is_ready()
    np.testing.assert_allclose(result, slow_sum(jnp.ones((500, 500))), rtol=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.fill_(5.0),
        lambda t: t[1:].add_(1),
        lambda t: t.resize_(100_000),
        lambda t: t.untyped_storage().resize_(0),
        lambda t: t.set_(torch.zeros(3)),
        lambda t: setattr(t, "data", torch.zeros(3)),
    ],
)
def test_changes_are_noticed_and_named(change):
    tensor = torch.ones(64)
    with pytest.raises(RuntimeError, match=r"^tree\['a'\]\[1\] .*written to, resized or pointed elsewhere"):
        with borrow({"a": [torch.zeros(3), tensor]}):
            change(tensor)


def test_an_error_in_the_block_is_not_masked():
    tensor = torch.ones(64)
    with pytest.raises(KeyError):
        with borrow(tensor) as shared:
            tensor.zero_()
            raise KeyError("mine")
    assert shared.is_deleted()


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: torch.zeros(4, 6)[:, ::2], ValueError, "strides"),
        (lambda: torch.tensor([1]), ValueError, "64-bit"),
        (lambda: torch.zeros(3, requires_grad=True), ValueError, "requires grad"),
        (lambda: np.zeros(3), TypeError, "only tensors can be borrowed"),
        (lambda: torch.inference_mode()(torch.zeros)(3), ValueError, "inference mode"),
    ],
)
def test_what_cannot_be_borrowed_is_named(make, kind, text):
    with pytest.raises(kind, match=rf"^tree\[0\] .*{text}"):
        with borrow([make()]):
            pass
