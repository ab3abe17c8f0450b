"""The wall that keeps fusion away never changes a value."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.boundary import apart

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
