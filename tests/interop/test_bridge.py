"""Calls of JAX functions with tensors: structure, memory, modes, and refusals that name the argument."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxkit import Sample, batch, stateless
from jaxkit.interop.torch import nchw, nhwc, torch_compatible


def pictures():
    return torch.arange(2 * 4 * 8 * 3, dtype=torch.uint8).reshape(2, 4, 8, 3)


invert = torch_compatible(jax.jit(lambda image: 255 - image))


def test_trees_keywords_and_static_values():
    @torch_compatible
    def fn(tree, n, *, scale=1.0, name="a"):
        assert isinstance(n, int) and name == "b"
        return {"out": [tree["x"] * scale + n, None], "size": tree["x"].shape[0]}

    result = fn({"x": torch.ones(3)}, 2, scale=4.0, name="b")
    assert result["out"][0].tolist() == [6, 6, 6] and result["out"][1] is None and result["size"] == 3


def test_static_arguments_of_a_jitted_function_also_with_gradients():
    power = torch_compatible(jax.jit(lambda x, n: x**n, static_argnames="n"))
    x = torch.full((2,), 3.0, requires_grad=True)
    assert power(x.detach(), n=2).tolist() == [9, 9]
    for n, expected in ((2, 6.0), (3, 27.0), (2.0, 6.0)):
        assert torch.autograd.grad(power(x, n=n).sum(), x)[0].tolist() == [expected] * 2
    with pytest.raises(TypeError, match="must be hashable"):
        power(x, n={1, 2})


def test_samples_and_keys():
    mirror = stateless(lambda sample: sample.replace(image=sample.image[:, ::-1]))
    fn = torch_compatible(batch(mirror))
    valid = torch.tensor([[4, 8], [4, 6]], dtype=torch.int32)
    result = fn(jax.random.key(0), torch.arange(2), Sample(image=pictures(), valid=valid))
    assert isinstance(result, Sample)
    assert torch.equal(result.image, pictures().flip(2)) and torch.equal(result.valid, valid)


def test_keys_among_the_results_pass():
    fn = torch_compatible(jax.jit(lambda key, x: (jax.random.split(key, 1)[0], x * 2)))
    for requires_grad in (False, True):
        key, y = fn(jax.random.key(0), torch.ones(2, requires_grad=requires_grad))
        assert jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and y.tolist() == [2, 2]


def test_bits_and_compilations_are_those_of_the_function(programs):
    fn = jax.jit(lambda x: jnp.sin(x) * 3 + x)
    numbers = torch.arange(7.0)
    expected = np.asarray(fn(jnp.arange(7.0)))
    before = len(programs)
    for _ in range(3):
        np.testing.assert_array_equal(torch_compatible(fn)(numbers).numpy(), expected)
    assert len(programs) == before


def test_a_permuted_tensor_compiles_once_more(programs):
    invert(torch.zeros(2, 8, 16, 3, dtype=torch.uint8))
    before = len(programs)
    for _ in range(3):
        invert(nhwc(torch.zeros(2, 3, 8, 16, dtype=torch.uint8)))
    assert len(programs) == before + 1


def test_channels_first_images():
    images = pictures().movedim(-1, -3).contiguous()
    result = nchw(invert(nhwc(images)))
    assert torch.equal(result, 255 - images) and result.shape == images.shape


STRIDED = [
    pictures()[:, ::2],
    pictures()[..., 0],
    pictures()[:1].expand(3, 4, 8, 3),
    pictures().flatten()[1:],
    pictures().permute(3, 1, 0, 2),
]


@pytest.mark.parametrize("images", STRIDED)
@pytest.mark.parametrize("compiled", [True, False])
def test_strided_tensors(images, compiled):
    fn = invert if compiled else torch_compatible(lambda image: 255 - image)
    assert torch.equal(fn(images), 255 - images)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.bool, torch.uint16, torch.complex64])
def test_dtypes_pass_unchanged(dtype):
    tensor = torch.tensor([[1.0, 0.0], [2.0, 1.0]]).to(dtype).T
    result = torch_compatible(jax.jit(lambda x: x))(tensor)
    assert result.dtype == dtype and result.tolist() == tensor.tolist()


@pytest.mark.parametrize("wrap", [jax.jit, lambda fn: fn])
@pytest.mark.parametrize("fn", [lambda x: x, lambda x: (x, x), lambda x: [x + 1] * 2])
def test_results_share_no_memory(fn, wrap):
    tensor = torch.ones(1024)
    results = jax.tree.leaves(torch_compatible(wrap(fn))(tensor))
    pointers = {tensor.data_ptr()} | {result.data_ptr() for result in results}
    assert len(pointers) == 1 + len(results)
    results[0].zero_()
    assert tensor.sum() == 1024 and all(result.sum() >= 1024 for result in results[1:])


def test_inputs_may_be_written_when_the_call_returns():
    def slow(x):
        return jax.lax.fori_loop(0, 30, lambda _, y: jnp.tanh(y @ x * 1e-3) + x, x)

    x = torch.ones(400, 400)
    result = torch_compatible(jax.jit(slow))(x)
    x.zero_()
    np.testing.assert_allclose(result, jax.jit(slow)(jnp.ones((400, 400))), rtol=1e-6)


def test_donation_leaves_the_input_alone():
    x = torch.ones(1024)
    fn = torch_compatible(jax.jit(lambda x: x + 1, donate_argnums=0))
    assert fn(x).sum() == 2048 and fn(x).sum() == 2048 and x.sum() == 1024


def test_modes_without_gradients():
    x = torch.ones(3, requires_grad=True)
    fn = torch_compatible(jax.jit(lambda x: x * 2))
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert not fn(x).requires_grad
    with torch.inference_mode():
        made = torch.ones(3)
    assert fn(made).tolist() == [2, 2, 2]


@pytest.mark.filterwarnings("ignore")
def test_a_call_inside_torch_compile_breaks_the_graph():
    fn = torch_compatible(jax.jit(lambda x: x * x))
    compiled = torch.compile(lambda x: fn(x.sin()) + 1, backend="aot_eager")
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    y = compiled(x)
    torch.testing.assert_close(y, torch.sin(x) ** 2 + 1)
    y.sum().backward()
    torch.testing.assert_close(x.grad, 2 * torch.sin(x.detach()) * torch.cos(x.detach()))


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: torch.tensor([2**40 + 7]), ValueError, "do not fit int32"),
        (lambda: torch.zeros(2, dtype=torch.float64), ValueError, "would round it to float32"),
        (lambda: torch.zeros(2).to_sparse(), TypeError, "to_dense"),
        (lambda: torch.zeros(2, device="meta"), ValueError, "meta"),
        (lambda: torch.zeros(2, dtype=torch.complex32), TypeError, "JAX has no"),
        (lambda: np.array([2**40]), ValueError, "do not fit int32"),
    ],
)
@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_refusals_name_the_argument(make, kind, text, requires_grad):
    fn = torch_compatible(jax.jit(lambda x, *, sample: x))
    with pytest.raises(kind, match=rf"^kwargs\['sample'\]\.valid \(.*{text}"):
        fn(torch.ones(2, requires_grad=requires_grad), sample=Sample(image=torch.ones(2), valid=make()))
    with pytest.raises(kind, match=rf"^args\[0\]\['x'\]\[1\] \(.*{text}"):
        fn({"x": [torch.ones(2, requires_grad=requires_grad), make()]}, sample=None)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_refusals_name_the_result(requires_grad):
    fn = torch_compatible(jax.jit(lambda x: {"y": [x, x.astype(jnp.int4)]}))
    with pytest.raises(TypeError, match=r"^result\['y'\]\[1\] \(int4 \[2\]\): PyTorch has no int4"):
        fn(torch.ones(2, requires_grad=requires_grad))


def test_numpy_results_and_numbers_of_a_plain_function():
    fn = torch_compatible(lambda x: (x * 2, np.ones(2, np.float32), x.shape[0], 0.5))
    for requires_grad in (False, True):
        doubled, ones, size, half = fn(torch.ones(2, requires_grad=requires_grad))
        assert ones.tolist() == [1, 1] and (size, half) == (2, 0.5)
    doubled.sum().backward()


def test_tensors_on_several_devices():
    with pytest.raises(ValueError, match=r"^args\[1\] .*it is on meta, the first tensor is on cpu"):
        invert(torch.zeros(2), torch.zeros(2, device="meta"))


def test_64_bit_rules():
    fn = torch_compatible(jax.jit(lambda x: x * 2), x64="cast")
    assert fn(torch.tensor([0.1], dtype=torch.float64)).dtype == torch.float32
    assert fn(torch.tensor([3])).dtype == torch.int32
    with jax.enable_x64(True):
        assert torch_compatible(jax.jit(lambda x: x * 2))(torch.tensor([2**40])).tolist() == [2**41]
    with pytest.raises(ValueError, match="x64 must be"):
        torch_compatible(lambda x: x, x64="silently")
