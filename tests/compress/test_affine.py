"""Affine integers against the reference of the ONNX specification, and against NumPy in exact steps."""

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from jaxkit.compress.affine import dequantize, exact_divide, quantize, requantize

KINDS = {"int8": onnx.TensorProto.INT8, "uint8": onnx.TensorProto.UINT8}


def _onnx(operation, feeds, axis):
    """What the reference evaluator of ONNX makes of one node."""
    names = list(feeds)
    node = helper.make_node(operation, names, ["out"], **({} if axis is None else {"axis": axis}))
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feeds.items()
    ]
    outputs = [helper.make_empty_tensor_value_info("out")]
    graph = helper.make_graph([node], "one", inputs, outputs)
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])).run(None, feeds)[0]


def _values(rng, scale):
    """Normal values, and every tie between two integers."""
    ties = (np.arange(-200, 200) + 0.5).astype(np.float32) * np.float32(scale)
    return np.concatenate([rng.normal(0, 60 * scale, 2000).astype(np.float32), ties]).reshape(4, -1)


@pytest.mark.parametrize("dtype, zero_point", [("int8", 0), ("int8", -7), ("uint8", 128)])
@pytest.mark.parametrize("scale", [0.1, 0.0078125, 3.3e-3])
def test_both_ways_are_those_of_onnx(rng, dtype, zero_point, scale):
    x, zero = _values(rng, scale), np.array(zero_point, dtype)
    q = jax.jit(lambda x, s: quantize(x, s, zero_point, dtype=dtype))(x, np.float32(scale))
    constant = jax.jit(lambda x: quantize(x, jnp.float32(scale), zero_point, dtype=dtype))(x)
    expected = _onnx("QuantizeLinear", {"x": x, "s": np.float32(scale), "z": zero}, None)
    np.testing.assert_array_equal(q, expected, strict=True)
    np.testing.assert_array_equal(constant, expected, strict=True)
    back = _onnx("DequantizeLinear", {"x": expected, "s": np.float32(scale), "z": zero}, None)
    np.testing.assert_array_equal(dequantize(q, jnp.float32(scale), zero_point), back)


def test_scales_along_an_axis_are_those_of_onnx(rng):
    x, scale = rng.normal(size=(3, 5, 4)).astype(np.float32), rng.uniform(0.01, 0.1, 5).astype(np.float32)
    zero = rng.integers(-20, 20, 5).astype(np.int8)
    q = quantize(jnp.asarray(x), jnp.asarray(scale), jnp.asarray(zero), axis=1)
    expected = _onnx("QuantizeLinear", {"x": x, "s": scale, "z": zero}, 1)
    np.testing.assert_array_equal(q, expected, strict=True)
    back = _onnx("DequantizeLinear", {"x": expected, "s": scale, "z": zero}, 1)
    np.testing.assert_array_equal(dequantize(q, jnp.asarray(scale), jnp.asarray(zero), axis=-2), back)


def test_a_division_is_rounded_once(rng):
    x, scale = rng.normal(size=100_000).astype(np.float32), rng.uniform(0.001, 1, 7).astype(np.float32)
    for one in scale:
        np.testing.assert_array_equal(jax.jit(lambda x, one=one: exact_divide(x, jnp.float32(one)))(x), x / one)


def test_sums_become_integers_by_one_product(rng):
    total = rng.integers(-(2**30), 2**30, 4000).astype(np.int32)
    multiplier = np.float32(1.7e-7)
    steps = np.rint(total.astype(np.float32) * multiplier) + np.float32(3)
    expected = np.clip(steps, -128, 127).astype(np.int8)
    np.testing.assert_array_equal(requantize(jnp.asarray(total), jnp.float32(multiplier), 3), expected, strict=True)


def test_what_does_not_fit_saturates():
    x = jnp.asarray([-1e30, -128.6, 127.5, 1e30, 0.5, 1.5, -0.5])
    np.testing.assert_array_equal(quantize(x, jnp.float32(1.0), 0), [-128, -128, 127, 127, 0, 2, 0])
