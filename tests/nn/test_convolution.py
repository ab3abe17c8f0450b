"""The fast forms of a convolution against XLA's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.nn import conv_general_dilated

LAST = ("NHWC", "HWIO", "NHWC")
CASES = {
    "depthwise": dict(groups=8, kernel=(3, 3), features=8),
    "depthwise, doubled": dict(groups=8, kernel=(5, 5), features=16, strides=(2, 1)),
    "depthwise, holes": dict(groups=8, kernel=(3, 2), features=8, dilation=(2, 3), padding=((1, 2), (3, 0))),
    "two groups": dict(groups=2, kernel=(3, 3), features=6, strides=(2, 2), padding="VALID"),
    "pointwise": dict(groups=1, kernel=(1, 1), features=5),
    "pointwise, padded": dict(groups=1, kernel=(1, 1), features=5, strides=(2, 3), padding=((1, 1), (0, 2))),
    "dense": dict(groups=1, kernel=(3, 3), features=4),
    "thin": dict(groups=1, kernel=(2, 2), features=7, strides=(2, 1), dilation=(1, 2)),
}


def _case(rng, *, groups, kernel, features, strides=(1, 1), padding="SAME", dilation=(1, 1)):
    x = jnp.asarray(rng.normal(size=(2, 9, 10, 8)), jnp.float32)
    weights = jnp.asarray(rng.normal(size=(*kernel, 8 // groups, features)), jnp.float32)
    settings = {"rhs_dilation": dilation, "dimension_numbers": LAST, "feature_group_count": groups}
    return (x, weights), lambda form, x, weights, **more: form(x, weights, strides, padding, **settings, **more)


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_lax(rng, name):
    inputs, run = _case(rng, **CASES[name])
    expected = run(jax.lax.conv_general_dilated, *inputs)
    cotangent = jnp.asarray(rng.normal(size=expected.shape), jnp.float32)

    def both(form):
        value, pull = jax.vjp(lambda *arrays: run(form, *arrays), *inputs)
        return value, *pull(cotangent)

    for ours, theirs in zip(
        jax.jit(lambda: both(conv_general_dilated))(), both(jax.lax.conv_general_dilated), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=3e-5)


@pytest.mark.parametrize("name", ["depthwise", "two groups", "pointwise"])
def test_int8_sums_are_exact_in_int32(rng, name):
    (x, weights), run = _case(rng, **CASES[name])
    x, weights = (jnp.asarray(rng.integers(-128, 128, a.shape), jnp.int8) for a in (x, weights))
    ours = jax.jit(lambda *arrays: run(conv_general_dilated, *arrays, preferred_element_type=jnp.int32))(x, weights)
    wide = run(jax.lax.conv_general_dilated, *(a.astype(jnp.float32) for a in (x, weights)))
    np.testing.assert_array_equal(ours, np.asarray(wide).astype(np.int32), strict=True)


def test_other_layouts_take_the_convolution_of_lax(rng):
    x, weights = (jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in ((2, 8, 9, 10), (8, 1, 3, 3)))
    settings = {"dimension_numbers": ("NCHW", "OIHW", "NCHW"), "feature_group_count": 8}
    ours, theirs = (
        f(x, weights, (1, 1), "SAME", **settings) for f in (conv_general_dilated, jax.lax.conv_general_dilated)
    )
    np.testing.assert_array_equal(ours, theirs)


def test_a_depthwise_program_has_no_convolution_on_a_cpu_and_one_elsewhere(rng):
    (x, weights), run = _case(rng, **CASES["depthwise"])
    traced = jax.jit(lambda *arrays: run(conv_general_dilated, *arrays)).trace(x, weights)
    texts = {platform: traced.lower(lowering_platforms=(platform,)).as_text() for platform in ("cpu", "cuda", "tpu")}
    assert ["stablehlo.convolution" in text for text in texts.values()] == [False, True, True]


@pytest.mark.parametrize("name", ["depthwise, doubled", "thin"])
def test_fast_forms_differentiate_like_any_function(rng, name):
    (x, weights), run = _case(rng, **CASES[name])
    tangents = (
        jnp.asarray(rng.normal(size=x.shape), jnp.float32),
        jnp.asarray(rng.normal(size=weights.shape), jnp.float32),
    )

    def told(form):
        forward = jax.jvp(lambda *arrays: run(form, *arrays), (x, weights), tangents)
        each = jax.vmap(jax.grad(lambda w, x: jnp.sum(jnp.sin(run(form, x[None], w)))), (None, 0))(weights, x)
        curved = jax.grad(lambda w: jnp.vdot(jax.grad(lambda w: jnp.sum(run(form, x, w) ** 3))(w), w))(weights)
        return *forward, each, curved

    ours, theirs = jax.jit(lambda: told(conv_general_dilated))(), told(jax.lax.conv_general_dilated)
    for mine, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
