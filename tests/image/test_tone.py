"""Pointwise ops against their formulas in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Sample, image

LEVELS = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
GREYS = np.linspace(0, 1, 257).reshape(1, 257, 1)
FORMULAS = {
    "brightness": (image.brightness_contrast(), (0.15, 0.0), lambda v: v + 0.15),
    "contrast": (image.brightness_contrast(), (0.0, -0.3), lambda v: (v - 0.5) * 0.7 + 0.5),
    "both": (image.brightness_contrast(), (-0.1, 0.4), lambda v: (v - 0.5) * 1.4 + 0.5 - 0.1),
    "gamma above one": (image.gamma(), 0.8, lambda v: v**1.8),
    "gamma below one": (image.gamma(), -0.5, lambda v: v**0.5),
    "invert": (image.invert(), True, lambda v: 1 - v),
}


def _apply(op, values, picture):
    params = (tuple(jnp.float32(v) for v in values) if isinstance(values, tuple) else jnp.asarray(values),)
    return np.asarray(op.apply(params, Sample(jnp.asarray(picture))).image)


@pytest.mark.parametrize("op, values, formula", FORMULAS.values(), ids=FORMULAS)
def test_tables_are_the_rounded_formula(op, values, formula):
    exact = np.clip(formula(LEVELS / 255.0), 0, 1) * 255
    ours = _apply(op, values, LEVELS)
    assert ours.dtype == np.uint8
    # Half a level, and the last bit of float32 beside a half.
    np.testing.assert_allclose(ours.astype(float), exact, atol=0.5 + 1e-4)


@pytest.mark.parametrize("op, values, formula", FORMULAS.values(), ids=FORMULAS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_floating_pictures_follow_the_formula(op, values, formula, dtype):
    greys = jnp.asarray(GREYS, dtype)
    expected = np.clip(formula(np.asarray(greys, np.float64)), 0, 1)
    ours = _apply(op, values, greys)
    np.testing.assert_allclose(ours.astype(np.float64), expected, atol=4 * float(jnp.finfo(dtype).eps))


@pytest.mark.parametrize("op, values", [case[:2] for case in FORMULAS.values()], ids=FORMULAS)
def test_order_of_grey_is_kept(op, values):
    mapped = _apply(op, values, LEVELS).ravel().astype(int)
    steps = np.diff(mapped)
    assert (steps <= 0).all() if op.name == "invert" else (steps >= 0).all()


def test_tone_composes_with_rounding_between():
    op = image.tone(image.gamma(), image.invert(), image.gamma())
    params = (jnp.float32(-0.4), jnp.asarray(True), jnp.float32(0.9))
    steps = LEVELS
    for single, values in ((image.gamma(), -0.4), (image.invert(), True), (image.gamma(), 0.9)):
        steps = _apply(single, values, steps)
    np.testing.assert_array_equal(op.apply(params, Sample(jnp.asarray(LEVELS))).image, steps)


def test_tones_nest():
    inner = image.tone(image.gamma(), image.invert())
    assert len(image.tone(inner, image.gamma()).apply.curves) == 3
    assert image.tone(inner, image.brightness_contrast()).neutral


def test_a_table_is_looked_up_once(rng):
    """The program of a tone has one gather on the picture, however many curves."""
    op = image.tone(image.gamma(), image.invert(), image.brightness_contrast())
    sample = Sample(jax.ShapeDtypeStruct((8, 8, 3), "uint8"))
    text = jax.jit(op.apply).lower(op.draw(jax.random.key(0), sample), sample).as_text()
    assert text.count('"stablehlo.gather"') == 1


@pytest.mark.parametrize("value, level", [(-3.0, 0), (0.5, 0), (1.5, 2), (2.5, 2), (254.5, 254), (999.0, 255)])
def test_rounding_is_half_to_even_after_clipping(value, level):
    assert image.to_uint8(jnp.float32(value)) == level
    assert image.to_uint8(jnp.float32(value)).dtype == jnp.uint8


def test_own_curves_join_a_tone():
    solarize = image.pointwise("solarize", lambda key: jnp.float32(0.5), lambda at, v: jnp.where(v > 1 - at, 1 - v, v))
    op = image.tone(solarize, image.invert(p=1.0))
    out = op.apply((jnp.float32(0.5), jnp.asarray(True)), Sample(jnp.asarray(LEVELS))).image
    expected = 255 - np.where(LEVELS > 127, 255 - LEVELS, LEVELS)
    np.testing.assert_array_equal(out, expected)
