"""The walls that keep fusion and batches away never change a value."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.boundary import apart, in_turn, member_by_member

EXTREMES = {
    **{name: [np.iinfo(name).min, np.iinfo(name).max, 0, 1] for name in ("uint8", "uint16", "uint32", "int8", "int32")},
    **{name: [0.0, -1.0, np.nan, np.inf, -np.inf] for name in ("float16", "float32")},
}


@pytest.mark.parametrize("dtype, value", [(d, v) for d, values in EXTREMES.items() for v in values])
def test_any_value_may_come_first(dtype, value):
    operand = jnp.asarray(np.full((2, 3), value, dtype))
    out = jax.jit(lambda x: apart(lambda y: y[::-1], x))(operand)
    np.testing.assert_array_equal(out, operand)


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_a_batch_is_the_loop(axes, rng):
    left, right = (jnp.asarray(rng.normal(0, 1, (4, 3)), jnp.float32) for _ in range(2))
    operands = [value if axis == 0 else value[1] for value, axis in zip((left, right), axes, strict=True)]
    out = jax.jit(jax.vmap(lambda a, b: apart(jnp.subtract, a, b), in_axes=axes))(*operands)
    np.testing.assert_array_equal(out, jnp.subtract(*jnp.broadcast_arrays(*(jnp.atleast_2d(o) for o in operands))))


def test_the_wall_is_in_the_program_and_gone_under_differentiation(rng):
    value = jnp.asarray(rng.normal(0, 1, 5), jnp.float32)
    walled = lambda x: apart(jnp.sin, x)  # noqa: E731
    conditional = ("stablehlo.case", "stablehlo.if")
    assert any(word in jax.jit(walled).lower(value).as_text() for word in conditional)
    slope = jax.jit(jax.vmap(jax.grad(walled)))
    assert not any(word in slope.lower(value).as_text() for word in conditional)
    np.testing.assert_allclose(slope(value), np.cos(value), rtol=1e-6)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_nothing_stays_nothing(shape):
    assert apart(jnp.sin, jnp.zeros(shape)).shape == shape
    assert jax.vmap(lambda x: apart(jnp.sin, x))(jnp.zeros(shape)).shape == shape


def _contracted(matrix, places):
    """Sums of products, which a vector unit may round once or twice."""
    return {"moved": matrix[0] * places[:, 0] + matrix[1] * places[:, 1] + matrix[2]}


@pytest.mark.parametrize("size", [1, 2, 3, 8, 33])
def test_members_have_the_same_bits_in_any_batch(size, rng):
    matrices, places = (rng.normal(0, 1, shape).astype(np.float32) for shape in ((33, 3), (33, 5, 2)))
    program = jax.jit(jax.vmap(lambda m, p: member_by_member(_contracted, m, p)))
    whole, part = program(matrices, places), program(matrices[:size], places[:size])
    np.testing.assert_array_equal(part["moved"], whole["moved"][:size])
    assert "stablehlo.while" in program.lower(matrices, places).as_text()
    m, p = matrices.astype(np.float64), places.astype(np.float64)
    expected = m[:, :1] * p[..., 0] + m[:, 1:2] * p[..., 1] + m[:, 2:]
    np.testing.assert_allclose(whole["moved"], expected, atol=2e-6)


def test_what_members_share_is_shared(rng):
    matrix, places = (jnp.asarray(rng.normal(0, 1, shape), jnp.float32) for shape in ((3,), (4, 5, 2)))
    out = jax.vmap(lambda p: member_by_member(_contracted, matrix, p))(places)["moved"]
    for index in range(4):
        np.testing.assert_allclose(out[index], _contracted(matrix, places[index])["moved"], atol=1e-6)


def test_members_may_come_in_nested_batches_or_not_at_all(rng):
    matrices, places = (jnp.asarray(rng.normal(0, 1, s), jnp.float32) for s in ((2, 3, 3), (2, 3, 5, 2)))
    apply = jax.vmap(jax.vmap(lambda m, p: member_by_member(_contracted, m, p)))
    out = apply(matrices, places)["moved"]
    np.testing.assert_allclose(out[1, 2], _contracted(matrices[1, 2], places[1, 2])["moved"], atol=1e-6)
    assert jax.vmap(lambda p: member_by_member(jnp.sin, p))(jnp.zeros((0, 3))).shape == (0, 3)


def test_members_have_the_derivatives_of_the_function(rng):
    value = jnp.asarray(rng.normal(0, 1, 5), jnp.float32)
    slope = jax.vmap(jax.grad(lambda x: member_by_member(jnp.sin, x)))(value)
    np.testing.assert_allclose(slope, np.cos(value), rtol=1e-6)


def test_in_turn_equals_all_at_once_and_is_a_loop_on_a_cpu(rng):
    rows, shared = rng.normal(size=(5, 8)).astype(np.float32), rng.normal(size=(8, 3)).astype(np.float32)
    program = jax.jit(jax.vmap(lambda row: in_turn(lambda a, b: {"out": jnp.sin(a) @ b}, row, shared)))
    np.testing.assert_allclose(program(rows)["out"], np.sin(rows) @ shared, rtol=1e-5, atol=1e-6)
    assert "stablehlo.while" in program.lower(rows).as_text()
    slope = jax.jit(jax.grad(lambda rows: jnp.sum(program(rows)["out"])))
    np.testing.assert_allclose(slope(rows), np.cos(rows) * shared.sum(axis=1), rtol=1e-5, atol=1e-6)
