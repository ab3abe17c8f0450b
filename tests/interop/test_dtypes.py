"""Every dtype in both directions, and no 64-bit value changed silently. Expectations are the numbers put in."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxkit.interop.torch import to_jax, to_torch

SHARED = [
    *"bool uint8 int8 int16 uint16 int32 uint32 float16 float32 complex64 bfloat16".split(),
    *"float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu".split(),
]
WIDE = "int64 uint64 float64 complex128".split()


def values(name):
    """Numbers that every dtype holds; float8_e8m0fnu has powers of two only, bool is 0 or 1."""
    return [1.0, 0.25 if "e8m0" in name else 0.0, 1.0 if name == "bool" else 2.0, 1.0]


def some(name):
    return torch.tensor(values(name)).to(getattr(torch, name))


@pytest.mark.parametrize("copy", [True, None, False])
@pytest.mark.parametrize("name", SHARED)
def test_dtypes_cross_and_return(name, copy):
    tensor = some(name)
    array = to_jax(tensor, copy=copy)
    assert array.dtype == getattr(jnp, name)
    np.testing.assert_array_equal(np.asarray(array).astype(complex), values(name))
    back = to_torch(array, copy=copy)
    assert back.dtype == tensor.dtype
    assert torch.equal(back.view(torch.uint8), tensor.view(torch.uint8))


@pytest.mark.parametrize("copy", [True, None, False])
@pytest.mark.parametrize("name", WIDE)
def test_64_bit_dtypes_cross_in_64_bit_mode(name, copy):
    with jax.enable_x64(True):
        array = to_jax(some(name), copy=copy)
        assert array.dtype == name
    assert to_torch(array, copy=copy).dtype == some(name).dtype


@pytest.mark.parametrize("convert", [torch.tensor, np.array])
@pytest.mark.parametrize(
    ("name", "fits", "exceeds"),
    [
        ("int64", [-(2**31), 2**31 - 1], [[2**31], [-(2**31) - 1], [2**40 + 7]]),
        ("uint64", [0, 2**32 - 1], [[2**32], [2**63 + 7]]),
    ],
)
def test_64_bit_integers_narrow_only_if_they_fit(convert, name, fits, exceeds):
    module = torch if convert is torch.tensor else np
    array = to_jax({"labels": convert(fits, dtype=getattr(module, name))})["labels"]
    assert array.dtype == name.replace("64", "32")
    assert array.tolist() == fits
    for labels in exceeds:
        for rule in ("error", "cast"):
            with pytest.raises(ValueError, match=rf"tree\['labels'\] .*{labels[0]}.*do not fit {name[:-2]}32"):
                to_jax({"labels": convert(labels, dtype=getattr(module, name))}, x64=rule)
    assert to_jax(convert([], dtype=getattr(module, name))).shape == (0,)


@pytest.mark.parametrize("convert", [torch.tensor, np.array])
@pytest.mark.parametrize("name", ["float64", "complex128"])
def test_64_bit_floats_are_rounded_only_when_asked(convert, name):
    wide = convert([0.1, 2.0], dtype=getattr(torch if convert is torch.tensor else np, name))
    with pytest.raises(ValueError, match=r"tree\[0\] .*would round it to .*x64"):
        to_jax([wide])
    rounded = to_jax(wide, x64="cast")
    np.testing.assert_array_equal(rounded, np.array([0.1, 2.0], rounded.dtype))
    assert rounded.dtype == {"float64": "float32", "complex128": "complex64"}[name]


@pytest.mark.parametrize("name", WIDE)
def test_narrowing_is_a_copy(name):
    with pytest.raises(ValueError, match=r"tree\.x.*copy=False.*64-bit|tree\['x'\].*copy=False.*64-bit"):
        to_jax({"x": some(name)}, copy=False)


def test_an_unknown_rule_is_named():
    with pytest.raises(ValueError, match="x64 must be .*'warn'"):
        to_jax(torch.zeros(2), x64="warn")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(2, dtype=torch.complex32),
        lambda: torch.zeros(2, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
        lambda: torch.quantize_per_tensor(torch.zeros(2), 0.1, 0, torch.quint8),
        lambda: torch.zeros(2, dtype=torch.uint8).view(torch.uint4),
        lambda: np.array(["text"]),
        lambda: np.zeros(2, np.longdouble),
        lambda: np.zeros(2, "datetime64[s]"),
        lambda: np.zeros(2, [("x", np.int32)]),
        lambda: np.array([None]),
        lambda: np.zeros(2, jax.dtypes.float0),
    ],
)
def test_dtypes_that_jax_lacks_are_refused(make):
    with pytest.raises(TypeError, match=r"^tree\['a'\]\[1\] \(.*\[\d\]\): JAX has no"):
        to_jax({"a": [0, make()]})


@pytest.mark.parametrize("name", ["float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "int4", "uint4", "int2", "uint2"])
def test_dtypes_that_torch_lacks_are_refused(name):
    with pytest.raises(TypeError, match=rf"^tree\['a'\]\[1\] \({name} \[2\]\): PyTorch has no {name}"):
        to_torch({"a": [0, jnp.zeros(2, getattr(jnp, name))]})


def test_gradients_of_integers_are_refused():
    gradient = jax.grad(lambda x: x.sum().astype(float), allow_int=True)(jnp.arange(3))
    with pytest.raises(TypeError, match=r"^tree\[0\] .*PyTorch has no"):
        to_torch([gradient])


def test_keys_are_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"^tree\['key'\] .*jax\.random\.key_data"):
        to_torch({"key": jax.random.key(0)})


def test_big_endian_and_extension_arrays_from_numpy():
    np.testing.assert_array_equal(to_jax(np.arange(3, dtype=">i4")), [0, 1, 2])
    assert to_torch(np.arange(3, dtype=">f4")).tolist() == [0, 1, 2]
    assert to_torch(np.asarray(jnp.ones(3, jnp.bfloat16))).dtype == torch.bfloat16
    assert to_jax(np.ones(3, jnp.bfloat16)).dtype == jnp.bfloat16
