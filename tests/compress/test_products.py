"""Products of small integers: sums exact in int64, ONNX's integer operations to the letter, odd sizes and blocks."""

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from jaxkit.compress.dynamic import dynamic_conv, dynamic_dot, dynamic_quantize, quantize_rows
from jaxkit.compress.products import integer_conv, integer_dot, qconv, qdot, qembed
from jaxkit.compress.qarray import QArray, quantize_array


def onnx_run(op, *arrays, outputs=1, **attributes):
    """One operation by the reference implementation of ONNX."""
    names, results = [f"in{i}" for i in range(len(arrays))], [f"out{i}" for i in range(outputs)]
    node = onnx.helper.make_node(op, names, results, **attributes)
    kinds = [onnx.helper.np_dtype_to_tensor_dtype(a.dtype) for a in arrays]
    taken = [onnx.helper.make_tensor_value_info(n, k, a.shape) for n, k, a in zip(names, kinds, arrays, strict=True)]
    given = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.UNDEFINED, None) for name in results]
    graph = onnx.helper.make_graph([node], "one", taken, given)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)])
    return ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True)))


def _real(q):
    """The real values of a `QArray` in float64."""
    return np.asarray(q.values(), np.float64) * np.asarray(q.scales(), np.float64)


def _normal(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    "shape, dtype, zero",
    [
        ((1, 7), "uint8", 201),
        ((3, 33), "uint8", 0),
        ((9, 1), "int8", -7),
        ((2, 5, 16), "int8", 0),
        ((7,), "uint8", 255),
        ((0, 7), "uint8", 3),
        ((4, 0), "int8", 3),
    ],
)
def test_products_of_integers_are_exact(rng, shape, dtype, zero):
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max + 1, shape).astype(dtype)
    w = rng.integers(-128, 128, (shape[-1], 5)).astype(np.int8)
    found = jax.jit(integer_dot)(x, w, zero_point=jnp.asarray(zero, dtype))
    assert found.dtype == jnp.int32
    np.testing.assert_array_equal(found, (x.astype(np.int64) - zero) @ w.astype(np.int64))
    if x.size and x.ndim == 2:
        np.testing.assert_array_equal(found, onnx_run("MatMulInteger", x, w, np.asarray(zero, dtype))[0])


def test_sums_fit_to_the_last_term_and_no_further():
    x, w = np.full((1, 65_793), 255, np.uint8), np.full((65_793, 1), -128, np.int8)
    assert integer_dot(x, w) == -255 * 128 * 65_793
    with pytest.raises(ValueError, match="may not fit int32"):
        integer_dot(np.zeros((1, 65_794), np.uint8), np.zeros((65_794, 1), np.int8))


@pytest.mark.parametrize(
    "channels, outputs, groups, zero, settings",
    [
        (3, 4, 1, 77, {"strides": (2, 1), "padding": ((1, 0), (2, 1))}),
        (6, 12, 6, 255, {"padding": ((1, 1), (1, 1)), "dilation": (2, 1)}),
        (6, 4, 2, 0, {"padding": ((0, 0), (0, 0))}),
    ],
)
def test_convolutions_of_integers_are_those_of_onnx(rng, channels, outputs, groups, zero, settings):
    x = rng.integers(0, 256, (2, 7, 6, channels)).astype(np.uint8)
    w = rng.integers(-128, 128, (3, 2, channels // groups, outputs)).astype(np.int8)
    found = jax.jit(lambda x, w: integer_conv(x, w, groups=groups, zero_point=zero, **settings))(x, w)
    (top, bottom), (left, right) = settings["padding"]
    attributes = {"pads": [top, left, bottom, right], "group": groups}
    attributes |= {"strides": settings.get("strides", (1, 1)), "dilations": settings.get("dilation", (1, 1))}
    planes = np.moveaxis(x, -1, 1), w.transpose(3, 2, 0, 1), np.uint8(zero)
    expected = onnx_run("ConvInteger", *map(np.asarray, planes), **attributes)[0]
    np.testing.assert_array_equal(found, np.moveaxis(expected, 1, -1))


def test_same_padding_is_that_of_the_float_convolution(rng):
    x, w = rng.integers(-9, 10, (1, 7, 6, 3)), rng.integers(-9, 10, (3, 2, 3, 4))
    real = [jnp.asarray(v, jnp.float32) for v in (x, w)]
    layout = ("NHWC", "HWIO", "NHWC")
    expected = jax.lax.conv_general_dilated(*real, (2, 3), "SAME", rhs_dilation=(1, 2), dimension_numbers=layout)
    found = integer_conv(jnp.asarray(x, jnp.int8), jnp.asarray(w, jnp.int8), strides=(2, 3), dilation=(1, 2))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "x", [[-1.3, 0.2, 4.0], [1.0, 5.0, 3.7], [-2.0, -7.0], [0.0, 0.0], [2.5, -2.5, 1 / 3]], ids=str
)
def test_ranges_of_their_own_are_those_of_onnx(rng, x):
    x = np.float32(x)
    for values in (x, np.concatenate([x, rng.uniform(x.min(), x.max(), 500).astype(np.float32)])):
        found = jax.jit(dynamic_quantize)(values)
        for own, other in zip(found, onnx_run("DynamicQuantizeLinear", values, outputs=3), strict=True):
            np.testing.assert_array_equal(own, other, strict=True)
    assert dynamic_quantize(jnp.zeros((0, 3))).values.shape == (0, 3)


BLOCKS = [{}, {"channel": 1}, {"channel": 1, "group": (0, 5)}, {"bits": 4, "channel": 1, "group": (0, 3)}, {"bits": 4}]


@pytest.mark.parametrize("blocks", BLOCKS, ids=str)
def test_products_are_those_of_the_real_values_they_stand_for(rng, blocks):
    w = quantize_array(jnp.asarray(_normal(rng, 15, 7)), **blocks)
    for shape in ((15,), (1, 15), (3, 2, 15), (0, 15)):
        x = jnp.asarray(_normal(rng, *shape))
        np.testing.assert_allclose(qdot(x, w), np.asarray(x, np.float64) @ _real(w), rtol=1e-5, atol=1e-5)
        for rows in (quantize_rows(x), quantize_array(x)) if len(shape) > 1 else ():
            np.testing.assert_allclose(jax.jit(qdot)(rows, w), _real(rows) @ _real(w), rtol=1e-5, atol=1e-5)


def test_rows_have_a_scale_each_and_zeros_stay(rng):
    x = _normal(rng, 2, 3, 8) * np.float32([[[1.0], [0.0], [1e4]], [[1e-4], [1.0], [3.0]]])
    q = quantize_rows(jnp.asarray(x))
    np.testing.assert_allclose(q.scale[..., 0], np.where(np.any(x, -1), np.abs(x).max(-1) / 127, 1), rtol=1e-6)
    assert np.all(np.abs(q.dequantize() - x) <= 0.5001 * np.asarray(q.scale))
    assert not np.any(q.values()[0, 1])


@pytest.mark.parametrize("bits, groups", [(8, 1), (8, 6), (4, 2)])
def test_convolutions_are_those_of_the_real_values_they_stand_for(rng, bits, groups):
    w = quantize_array(jnp.asarray(_normal(rng, 3, 3, 6 // groups, 6)).at[..., 2].set(0), bits=bits, channel=3)
    x = jnp.asarray(_normal(rng, 2, 6, 5, 6))

    def expected(x):
        layout = {"dimension_numbers": ("NHWC", "HWIO", "NHWC"), "feature_group_count": groups}
        return jax.lax.conv_general_dilated(x, w.dequantize(), (2, 1), "SAME", **layout)

    np.testing.assert_allclose(qconv(x, w, strides=(2, 1), groups=groups), expected(x), rtol=1e-5, atol=1e-5)
    for own in (quantize_array(x), quantize_array(x, channel=0)):
        found = jax.jit(lambda x: qconv(x, w, strides=(2, 1), groups=groups))(own)
        np.testing.assert_allclose(found, expected(own.dequantize()), rtol=1e-5, atol=2e-5)
    q = dynamic_quantize(x)
    rounded = (q.values.astype(jnp.float32) - q.zero_point.astype(jnp.float32)) * q.scale
    found = dynamic_conv(x, w, strides=(2, 1), groups=groups)
    np.testing.assert_allclose(found, expected(rounded), rtol=1e-5, atol=2e-5)
    assert not np.any(found[..., 2])


def test_rounded_as_they_come_products_are_close_and_map(rng):
    x, w = jnp.asarray(_normal(rng, 4, 5, 40)), quantize_array(jnp.asarray(_normal(rng, 40, 6)), channel=1)
    alone = jax.jit(lambda x: dynamic_dot(x, w))
    for one, rows in zip(jax.jit(jax.vmap(alone))(x), x, strict=True):
        np.testing.assert_allclose(one, alone(rows), rtol=1e-6)
        assert np.linalg.norm(one - rows @ w.dequantize()) < 0.02 * np.linalg.norm(one)
    kernels = jax.jit(jax.vmap(lambda k: quantize_array(k, bits=4, channel=1)))(jnp.asarray(_normal(rng, 3, 40, 5)))
    stacked = jax.jit(jax.vmap(lambda q: qdot(x[0], q)))(kernels)
    real = jax.jit(jax.vmap(QArray.dequantize))(kernels)
    np.testing.assert_allclose(stacked, np.asarray(x[0], np.float64) @ np.asarray(real), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "blocks",
    [{}, {"channel": 0}, {"bits": 4, "group": (0, 3), "channel": 1}, {"bits": 4, "channel": 0, "group": (1, 4)}],
)
def test_rows_of_a_table_are_those_of_its_real_values(rng, blocks):
    table = quantize_array(jnp.asarray(_normal(rng, 9, 8)), **blocks)
    ids = jnp.asarray([[0, 8, 3], [3, 2, 7]])
    np.testing.assert_array_equal(jax.jit(qembed)(ids, table), table.dequantize()[ids])
    outside = qembed(jnp.asarray([-1, 4, 9]), table)
    assert np.isnan(outside[jnp.array([0, 2])]).all() and np.isfinite(outside[1]).all()


def test_no_ids_are_no_rows():
    assert qembed(jnp.zeros((0, 2), jnp.int32), quantize_array(jnp.ones((9, 8)))).shape == (0, 2, 8)


def test_shapes_and_blocks_that_do_not_meet_are_refused(rng):
    w = quantize_array(jnp.ones((12, 4)), group=(0, 3))
    x, table = jnp.ones((2, 12)), quantize_array(jnp.ones((3, 4)))
    wrong = [
        (lambda: qdot(jnp.ones((2, 11)), w), "takes"),
        (lambda: qdot(quantize_array(x, group=(1, 4)), w), "one scale"),
        (lambda: dynamic_dot(x, w), "one scale for each output"),
        (lambda: quantize_array(jnp.ones((12, 4)), group=(0, 5)), "do not divide"),
        (lambda: qconv(jnp.ones((1, 4, 4, 6)), quantize_array(jnp.ones((3, 3, 6, 6))), groups=6), "6 groups"),
        (lambda: qconv(jnp.ones((4, 4, 6)), quantize_array(jnp.ones((3, 3, 6, 6)))), "a convolution takes"),
        (lambda: qconv(quantize_array(x[None, None], channel=3), quantize_array(jnp.ones((1, 1, 12, 2)))), "one scale"),
        (lambda: integer_dot(x, w.values()), "int8 or uint8"),
        (lambda: integer_dot(w.values(), w.values()), "integer_dot takes"),
        (lambda: qembed(jnp.ones(3), table), "integer ids"),
        (lambda: qembed(jnp.zeros(3, jnp.int32), QArray(jnp.ones(3, jnp.int8), jnp.ones(1), (3,))), "table"),
    ]
    for call, words in wrong:
        with pytest.raises(ValueError, match=words):
            call()
