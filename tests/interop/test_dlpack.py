"""Layout, lifetime and writes after sharing, both ways. The expectation is always the tensor's own values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxkit import Sample
from jaxkit.interop.torch import explain, nchw, nhwc, to_jax, to_torch


def numbers(*shape):
    return torch.arange(int(np.prod(shape)), dtype=torch.float32).reshape(shape)


def with_gradient(*shape):
    return numbers(*shape).requires_grad_()


COMPACT = {
    "row-major": lambda: numbers(4, 16),
    "transposed": lambda: numbers(4, 16).T,
    "permuted": lambda: numbers(2, 3, 4).permute(2, 0, 1),
    "channels last": lambda: numbers(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "aligned rows": lambda: numbers(4, 16)[1:],
    "scalar": lambda: torch.tensor(7.0),
    "size one": lambda: numbers(3, 1, 2).transpose(0, 1),
    "inference": lambda: inference(),
}
EMPTY = [(0,), (0, 3), (3, 0, 2)]
STRIDED = {
    "unaligned": lambda: numbers(20)[1:],
    "columns": lambda: numbers(4, 6)[:, ::2],
    "slice": lambda: numbers(4, 6)[:, 1:3],
    "channel": lambda: numbers(4, 6, 3)[..., 0],
    "expanded": lambda: numbers(1, 6).expand(4, 6),
    "stride 0": lambda: torch.ones(()).expand(3, 4),
    "unfolded": lambda: numbers(8).unfold(0, 3, 1),
    "as_strided": lambda: numbers(10).as_strided((3, 3), (2, 1)),
    "conjugate": lambda: torch.complex(numbers(3), numbers(3)).conj(),
    "negative": lambda: torch.complex(numbers(3), numbers(3)).conj().imag,
}


def inference():
    with torch.inference_mode():
        return numbers(4)


@pytest.mark.parametrize("copy", [True, None, False])
@pytest.mark.parametrize("name", COMPACT)
def test_compact_tensors(name, copy):
    tensor = COMPACT[name]()
    array = to_jax(tensor, copy=copy)
    np.testing.assert_array_equal(array, tensor.numpy())
    np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(array), tensor.numpy() + 1)
    assert (array.unsafe_buffer_pointer() == tensor.data_ptr()) == (copy is not True)


@pytest.mark.parametrize("copy", [True, None])
@pytest.mark.parametrize("name", STRIDED)
def test_strided_tensors_are_copied(name, copy):
    tensor = STRIDED[name]()
    array = to_jax(tensor, copy=copy)
    np.testing.assert_array_equal(array, tensor.resolve_conj().resolve_neg().numpy())
    assert array.unsafe_buffer_pointer() != tensor.data_ptr()


@pytest.mark.parametrize("name", STRIDED)
def test_strided_tensors_cannot_be_shared(name):
    with pytest.raises(ValueError, match=r"^tree\.image .*copy=False, but it must be copied: (its|it is)"):
        to_jax(Sample(image=STRIDED[name]()), copy=False)


@pytest.mark.parametrize("copy", [True, None, False])
@pytest.mark.parametrize("shape", EMPTY)
def test_empty_arrays(shape, copy):
    assert to_jax(torch.zeros(shape), copy=copy).shape == shape
    assert to_jax(np.zeros(shape, np.float32), copy=copy).shape == shape
    assert to_torch(jnp.zeros(shape), copy=copy).shape == shape


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: with_gradient(3), ValueError, "requires grad.*torch_compatible.*detach"),
        (lambda: torch.nn.Parameter(numbers(3)), ValueError, "requires grad"),
        (lambda: numbers(3).to_sparse(), TypeError, "to_dense"),
        (lambda: torch.nested.nested_tensor([numbers(3)], layout=torch.jagged), TypeError, "pad it"),
        (lambda: torch.zeros(3, device="meta"), ValueError, "meta tensor has no values"),
        (lambda: object(), TypeError, "neither an array, a number nor text"),
    ],
)
def test_tensors_that_are_refused(make, kind, text):
    with pytest.raises(kind, match=rf"^tree\['x'\]\[0\] .*{text}"):
        to_jax({"x": [make()]})
    assert "refused: " in explain(make())


def test_gradients_are_dropped_under_no_grad():
    with torch.no_grad():
        np.testing.assert_array_equal(to_jax(with_gradient(3)), [0, 1, 2])


@pytest.mark.parametrize("make", [lambda: numbers(64), lambda: numbers(64).numpy()])
def test_writes_after_a_copy_do_not_reach_jax(make):
    source = make()
    array = to_jax(source)
    total = jax.jit(jnp.sum)(array)
    source[:] = -1
    assert total == array.sum() == 64 * 63 / 2


def test_writes_after_a_copy_do_not_reach_torch_or_jax():
    array = jnp.arange(64.0)
    tensor = to_torch(array)
    tensor.fill_(-1)
    assert array.sum() == 64 * 63 / 2
    assert tensor.data_ptr() != array.unsafe_buffer_pointer()
    assert to_torch(array, copy=False).data_ptr() == array.unsafe_buffer_pointer()


def test_a_shared_array_outlives_set_and_data():
    tensor = numbers(1000)
    array = to_jax(tensor, copy=None)
    tensor.set_(torch.zeros(3))
    other = numbers(1000)
    second = to_jax(other, copy=None)
    other.data = torch.zeros(3)
    del tensor, other
    np.testing.assert_array_equal(array, np.arange(1000))
    np.testing.assert_array_equal(second, np.arange(1000))


def test_copies_do_not_compile_again(programs):
    @jax.jit
    def doubled_of_a_copy(x):
        return x * 2

    for values in (jnp.ones((3, 4)), torch.ones(3, 4), torch.ones(4, 3).T, np.ones((3, 4), np.float32)):
        doubled_of_a_copy(to_jax(values))
    assert programs.count("jit(doubled_of_a_copy)") == 1


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.arange(6, dtype=np.float32)[::-1],
        np.frombuffer(bytes(range(64)), np.uint8),
        np.asarray(jnp.arange(5)),
        np.float32(3),
    ],
)
def test_numpy_arrays_of_any_kind(array):
    for copy in (True, None):
        np.testing.assert_array_equal(to_jax(array, copy=copy), array)
        np.testing.assert_array_equal(to_torch(array, copy=copy).numpy(), array)


def test_numpy_arrays_are_shared_or_refused():
    aligned = numbers(64).numpy()
    assert to_jax(aligned, copy=False).unsafe_buffer_pointer() == aligned.ctypes.data
    with pytest.raises(ValueError, match=r"^tree\[0\] .*copy=False, but it must be copied"):
        to_jax([aligned[1:]], copy=False)
    with pytest.raises(ValueError, match=r"^tree\[0\] .*copy=False.*read-only"):
        to_torch([np.asarray(jnp.arange(5))], copy=False)
    assert to_torch(aligned, copy=False).data_ptr() == aligned.ctypes.data


def test_what_is_no_array_passes():
    tree = {"key": jax.random.key(1), "n": 3, "text": "abc", "rate": 0.5, "none": None, "on": True}
    assert to_jax(tree) == tree
    without_key = {name: value for name, value in tree.items() if name != "key"}
    assert to_torch(without_key) == without_key


def test_structure_and_fields_are_kept():
    sample = to_jax(Sample(image=torch.zeros(2, 4, 5, 3, dtype=torch.uint8), valid=torch.ones(2, 2, dtype=torch.int32)))
    assert isinstance(sample, Sample) and sample.mask is None
    assert (sample.image.shape, sample.valid.dtype) == ((2, 4, 5, 3), jnp.int32)
    assert to_torch(sample).image.dtype == torch.uint8


def test_traced_arrays():
    with pytest.raises(TypeError, match=r"^tree\['x'\] .*traced"):
        jax.jit(lambda x: to_torch({"x": x}))(jnp.ones(3))
    assert jax.jit(lambda x: to_jax({"x": x})["x"] + 1)(2) == 3


def test_deleted_arrays_are_refused():
    array = jnp.ones(3)
    array.delete()
    with pytest.raises(ValueError, match=r"^tree\[0\] .*deleted or donated"):
        to_torch([array])


@pytest.mark.parametrize("axes", [("x",), ()])
def test_arrays_on_several_devices_are_refused(axes):
    mesh = jax.sharding.Mesh(jax.devices()[:2], "x")
    values = np.arange(4, dtype=np.float32)
    spread = jax.device_put(values, jax.NamedSharding(mesh, jax.P(*axes)))
    with pytest.raises(ValueError, match=r"^tree\['a'\] .*jax\.device_get"):
        to_torch({"a": spread})
    assert to_torch(jax.device_get(spread)).tolist() == [0, 1, 2, 3]
    assert to_torch(jax.device_put(values, jax.devices()[1])).tolist() == [0, 1, 2, 3]


def test_axis_order_is_a_view():
    images = torch.randint(0, 255, (2, 3, 8, 16), dtype=torch.uint8)
    turned = nhwc(images)
    assert turned.shape == (2, 8, 16, 3) and turned.data_ptr() == images.data_ptr()
    assert torch.equal(nchw(turned), images) and nchw(turned).data_ptr() == images.data_ptr()
    shared = to_jax(turned, copy=False)
    assert shared.unsafe_buffer_pointer() == images.data_ptr()
    np.testing.assert_array_equal(shared, images.numpy().transpose(0, 2, 3, 1))
    assert nhwc(images[0]).shape == (8, 16, 3)
    with pytest.raises(TypeError, match=r"at least 3 dimensions, got torch.float32 \[2, 2\]"):
        nhwc(torch.zeros(2, 2))


def test_explain_says_what_copy_none_does():
    rows = {
        "shared": torch.zeros(2),
        "shared, in a layout": torch.zeros(2, 3).T,
        "copied: its strides": torch.zeros(3, 4)[:, ::2],
        "copied: JAX's 64-bit mode is off": torch.tensor([1]),
        "refused: JAX would round": torch.zeros(2, dtype=torch.float64),
        "unchanged": 3,
    }
    lines = explain(list(rows.values())).splitlines()
    assert lines[0].split() == ["leaf", "dtype", "and", "shape", "to", "JAX"]
    for index, (line, fate) in enumerate(zip(lines[1:], rows, strict=True)):
        assert line.startswith(f"tree[{index}]") and fate in line
