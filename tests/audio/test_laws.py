"""The laws that every preset, filter and op of `audio` obeys."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.audio.catalogue import CATALOGUE
from tests.audio.laws import (
    IDS,
    KEY,
    MEMBERS,
    assert_close,
    content,
    cut,
    drawn,
    examples,
    extremes,
    mapped,
    member,
    op,
    result,
    single,
    with_content,
)
from tests.contract import assert_same, zeros

STEP = 1e-3


def every(entries):
    """Parametrises a test over entries of the catalogue."""
    entries = tuple(entries)
    return pytest.mark.parametrize("entry", entries, ids=[entry.name for entry in entries])


@every(CATALOGUE)
def test_a_clip_alone_equals_the_clip_in_a_batch_with_garbage_beyond_its_length(entry):
    batched = mapped(entry).apply(drawn(entry), examples(entry, beyond=np.nan))
    for index in MEMBERS[:1]:
        alone = single(entry)(member(drawn(entry), index), cut(member(examples(entry), index)))
        assert_close(member(batched, index), alone, entry.slack)


@every(CATALOGUE)
def test_padding_is_not_read_and_is_zero_after(entry):
    for beyond in (np.nan, 77.0):
        again = mapped(entry).apply(drawn(entry), examples(entry, beyond=beyond))
        assert_same(again, result(entry))
    for index in IDS:
        values, length = content(member(result(entry), index))
        assert np.isfinite(values).all()
        assert 0 <= length <= len(values)
        np.testing.assert_array_equal(values[length:], 0)


@every(CATALOGUE)
def test_results_do_not_depend_on_the_order(entry):
    order = np.array([2, 7, 1, 0, 4, 3, 6, 5])
    shuffled = mapped(entry)(jax.random.key(KEY), IDS[order], member(examples(entry), order))
    assert_same(shuffled, member(result(entry), order))


@every(entry for entry in CATALOGUE if entry.random)
def test_another_key_gives_another_result(entry):
    others = [mapped(entry)(jax.random.key(key), IDS, examples(entry)) for key in (KEY, 4, 5)]
    assert_same(others[0], result(entry))
    assert len({np.asarray(content(other)[0]).tobytes() for other in others}) == 3


@every(entry for entry in CATALOGUE if not entry.random)
def test_what_has_no_chance_ignores_the_key(entry):
    assert_same(mapped(entry)(jax.random.key(4), IDS + 9, examples(entry)), result(entry))


@every(CATALOGUE)
def test_nothing_finite_gives_nan_and_no_call_compiles_again(entry, programs):
    result(entry)
    unusual, before = extremes(entry), len(programs)
    out = mapped(entry)(jax.random.key(5), IDS + 3, unusual)
    values = np.asarray(content(out)[0])
    assert np.isfinite(values).all(), [i for i in IDS if not np.isfinite(values[i]).all()]
    assert programs[before:] == []


@every(entry for entry in CATALOGUE if op(entry).neutral)
def test_zero_params_are_the_identity(entry):
    nothing = zeros(drawn(entry))
    assert_same(mapped(entry).apply(nothing, examples(entry)), examples(entry))


@every(CATALOGUE)
def test_gradients_are_finite_and_follow_differences(entry):
    slopes, rng = _slopes(entry), np.random.default_rng(3)
    values, length = content(examples(entry))
    loss, at = slopes(values, length, drawn(entry))
    assert _finite(at) and _finite(slopes(*content(extremes(entry)), drawn(entry)))
    if entry.smooth:
        direction = jnp.asarray(rng.normal(0, 1, values.shape), jnp.float32)
        ahead, behind = (slopes(values + step * direction, length, drawn(entry))[0] for step in (STEP, -STEP))
        expected = np.asarray(ahead - behind)[MEMBERS[0]] / (2 * STEP)
        slope = np.asarray(at[0][MEMBERS[0]])
        got = np.vdot(slope, direction[MEMBERS[0]])
        np.testing.assert_allclose(got, expected, atol=0.05 * np.linalg.norm(slope))


def _slopes(entry):
    """Compiled: the value of a random linear function of what the op makes, and its derivatives, for each member."""
    weights = jnp.asarray(np.random.default_rng(3).normal(size=content(result(entry))[0].shape[1:]), jnp.float32)
    plain = cut(member(examples(entry), 0))

    def loss(values, params, length):
        return jnp.vdot(content(op(entry).apply(params, with_content(plain, values, length)))[0], weights)

    def slopes(values, length, params):
        return jax.value_and_grad(loss, argnums=(0, 1), allow_int=True)(values, params, length)

    return jax.jit(jax.vmap(slopes))


def _finite(tree) -> bool:
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    return all(np.isfinite(leaf).all() for leaf in leaves if leaf.dtype == np.float32)


@every(CATALOGUE)
@pytest.mark.parametrize("size", [0, 1])
def test_hardly_anything_is_a_clip_too(entry, size):
    values, _ = content(examples(entry))
    tiny = with_content(cut(member(examples(entry), 0)), jnp.full((size, *values.shape[2:]), 0.5, jnp.float32), None)
    params = op(entry).draw(jax.random.key(0), tiny)
    assert _finite(single(entry)(params, tiny))


@every(CATALOGUE)
def test_the_length_stays_out_where_it_was_out(entry):
    plain = cut(member(examples(entry), 0))
    told = jax.eval_shape(op(entry).apply, member(drawn(entry), 0), plain)
    assert content(told)[0].dtype == jnp.float32
    assert content(told)[0].ndim == content(plain)[0].ndim or entry.kind == "preset"
