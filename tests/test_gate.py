"""The selection of members: the result of a plain selection, at the cost of the selected."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Sample, batch, maybe, one_of, stateless, warp
from jaxkit.gate import gated

SIZE, P = 40, 0.2
CAPACITY = 16  # 40 * 0.2 + 3 * sqrt(40 * 0.2 * 0.8), rounded up


def _shift(params, example):
    return {"value": jnp.sin(example["value"]) + params, "count": example["count"] + 1}


def _examples(rng, size=SIZE):
    return {
        "value": jnp.asarray(rng.normal(0, 1, (size, 3)), jnp.float32),
        "count": jnp.arange(size, dtype=jnp.int32),
    }


@pytest.mark.parametrize("hits", [0, 1, CAPACITY - 1, CAPACITY, CAPACITY + 1, SIZE])
def test_compaction_equals_selection_also_beyond_capacity(hits, rng):
    hit = np.zeros(SIZE, bool)
    hit[rng.permutation(SIZE)[:hits]] = True
    params, examples = jnp.asarray(rng.normal(0, 1, (SIZE, 1)), jnp.float32), _examples(rng)
    out = jax.jit(jax.vmap(gated(_shift, P)))(jnp.asarray(hit), params, examples)
    expected = np.where(hit[:, None], np.sin(examples["value"]) + params, examples["value"])
    np.testing.assert_allclose(out["value"], expected, atol=1e-6)
    np.testing.assert_array_equal(out["count"], np.arange(SIZE) + hit)


@pytest.mark.parametrize("hit", [True, False])
def test_one_example_is_selected_without_a_batch(hit, rng):
    example = jax.tree.map(lambda leaf: leaf[0], _examples(rng))
    out = gated(_shift, P)(jnp.asarray(hit), jnp.ones(1), example)
    assert out["count"] == int(hit)


def test_params_and_examples_may_be_shared_by_the_batch(rng):
    hit, examples = jnp.asarray(rng.random(SIZE) < P), _examples(rng)
    one = jax.tree.map(lambda leaf: leaf[5], examples)
    out = jax.vmap(gated(_shift, P), in_axes=(0, None, None))(hit, jnp.ones(1), one)
    np.testing.assert_array_equal(out["count"], 5 + np.asarray(hit))


def test_nested_batches_agree_with_the_loop(rng):
    hit = jnp.asarray(rng.random((3, SIZE)) < P)
    examples = jax.tree.map(lambda leaf: jnp.stack([leaf] * 3), _examples(rng))
    params = jnp.asarray(rng.normal(0, 1, (3, SIZE, 1)), jnp.float32)
    apply = jax.vmap(gated(_shift, P))
    whole = jax.vmap(apply)(hit, params, examples)
    for index in range(3):
        alone = apply(hit[index], params[index], jax.tree.map(lambda leaf, i=index: leaf[i], examples))
        np.testing.assert_allclose(whole["value"][index], alone["value"], atol=1e-6)


def test_the_function_runs_on_the_capacity_and_on_all_only_in_the_other_branch(rng):
    arguments = jnp.zeros(SIZE, bool), jnp.zeros((SIZE, 1)), _examples(rng)
    text = jax.jit(jax.vmap(gated(_shift, P))).lower(*arguments).as_text()
    sines = re.findall(r"stablehlo\.sine.*tensor<(\d+)x3xf32>", text)
    assert sorted(map(int, sines)) == [CAPACITY, SIZE]
    cases = re.split(r"stablehlo\.case|stablehlo\.if", text)
    assert len(cases) == 2 and "sine" not in cases[0].split("@main")[1].split("func.func private")[0]


@pytest.mark.parametrize("p", [1.0, 0.9])
def test_no_branch_where_nearly_all_are_selected(p, rng):
    arguments = jnp.zeros(8, bool), jnp.zeros((8, 1)), _examples(rng, 8)
    text = jax.jit(jax.vmap(gated(_shift, p))).lower(*arguments).as_text()
    assert "stablehlo.case" not in text and "stablehlo.if" not in text


def test_gradients_are_those_of_the_selection(rng):
    hit, params, examples = jnp.asarray(rng.random(SIZE) < P), jnp.zeros((SIZE, 1)), _examples(rng)

    def loss(values):
        return jax.vmap(gated(_shift, P))(hit, params, {**examples, "value": values})["value"].sum()

    slope = jax.grad(loss)(examples["value"])
    np.testing.assert_allclose(slope, np.where(np.asarray(hit)[:, None], np.cos(examples["value"]), 1.0), atol=1e-6)


CHOICES = {"maybe": lambda op: maybe(op, 0.3), "one_of": lambda op: one_of(op, stateless(lambda sample: sample))}


@pytest.mark.parametrize("make", CHOICES.values(), ids=CHOICES)
def test_ops_are_selected_per_example(make, rng):
    images = jnp.asarray(rng.integers(0, 256, (32, 4, 6, 1), dtype=np.uint8))
    f = batch(make(warp.quarter_turn(turns=2)))
    params = f.draw(jax.random.key(0), np.arange(32), Sample(images))
    hit = np.asarray(params[0] if params[0].dtype == bool else params[0] == 0)
    assert 0 < hit.sum() < 32
    expected = np.where(hit[:, None, None, None], np.asarray(images)[:, ::-1, ::-1], images)
    np.testing.assert_array_equal(f.apply(params, Sample(images)).image, expected)
