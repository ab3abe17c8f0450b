"""Compilations, host synchronisations, widenings, constants and memory are found with their line or reason."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.port import Case, Limits
from jaxkit.port.program import footprint, memory_check, static_checks, trace
from jaxkit.port.watch import check_compilations, compilations, reason

X = np.ones((4, 8), np.float32)


def cases(*inputs):
    return [Case(f"case {i}", arguments) for i, arguments in enumerate(inputs)]


def watch(rewrite, first, reseeded=(), limit=1):
    return check_compilations(rewrite, cases(*first), cases(*reseeded), limit)


def static(rewrite, *inputs, limits=None):
    return {check.name: check for check in static_checks(trace(rewrite, inputs), limits or Limits(widenings=0))}


def test_one_jitted_callable_compiles_once_per_shape():
    double = jax.jit(lambda x: x * 2)
    first, later = watch(double, [(X,), (X + 1,), (X[:2],)], [(X - 5,)])
    assert first.passed and first.value == 1
    assert later.passed and later.value == 0 and later.message.startswith("5 later calls")


def test_a_composition_of_two_needs_two():
    one, two = jax.jit(lambda x: x * 2), jax.jit(lambda x: x + 1)
    first, later = watch(lambda x: two(one(x)), [(X,)])
    assert not first.passed and first.value == 2 and later.passed
    assert watch(lambda x: two(one(x)), [(X,)], limit=2)[0].passed
    assert watch(lambda x: two(one(x)), [(X,)], limit=None)[0].passed


def test_a_function_jitted_anew_at_every_call_is_found():
    def rewrite(x):
        return jax.jit(lambda y: y * 2)(x)

    first, later = watch(rewrite, [(X,)])
    assert first.passed and not later.passed
    assert "made and jitted anew at every call" in later.message and "test_watch.py" in later.message


def test_a_number_that_is_compiled_in_is_found_by_the_next_seed():
    rewrite = jax.jit(lambda x, seed: x + seed, static_argnums=1)
    assert watch(rewrite, [(X, 3)])[1].passed
    later = watch(rewrite, [(X, 3)], [(X, 4)])[1]
    assert not later.passed and "each value compiles again, so pass an array" in later.message


def test_the_reason_names_both_static_values_where_jax_gives_them():
    text = (
        "TRACING CACHE MISS at a.py:14 (<module>):\n  for blur defined at /home/b.py:10\n  all previously seen cache "
        "keys differ. For the closest previous key:\n  different input pytree:\n  * at input path [0][1], now "
        "<class 'Static'> with pytree metadata Static(val=4) and before <class 'Static'> with pytree metadata "
        "Static(val=3), so they do not match"
    )
    assert reason(text).startswith("blur (b.py:10): a static value changed from 3 to 4;")
    text = text[: text.index("different")] + "cache miss explanation unavailable"
    assert reason(text).startswith("blur (b.py:10): no array changed, a static value did;")


def test_a_static_size_may_differ_from_case_to_case():
    rewrite = jax.jit(lambda x, size: x[:size], static_argnums=1)
    first, later = watch(rewrite, [(X, 2), (X, 3)])
    assert first.passed and later.passed


def test_weak_types_are_named():
    later = watch(jax.jit(lambda x, by: x * by), [(X, jnp.float32(2)), (X, jnp.asarray(2.0))])[1]
    assert not later.passed and "pass numbers always as the same kind" in later.message


def test_a_compilation_without_a_new_trace_is_counted():
    shared = jax.dlpack.from_dlpack(jnp.asarray(X))
    later = watch(jax.jit(lambda x: x * 2), [(jnp.asarray(X),), (shared,)])[1]
    assert later.value == 1 and "0 traces" in later.message
    assert "compiled again from the same trace" in later.message


def test_keys_and_strings_are_inputs_too():
    def rewrite(key, kind, x):
        return draw(key, x) if kind == "normal" else x

    draw = jax.jit(lambda key, x: x + jax.random.normal(key, x.shape))
    first, later = watch(rewrite, [(jax.random.key(0), "normal", X)], [(jax.random.key(1), "normal", X)])
    assert first.passed and later.passed and later.message.startswith("2 later calls")
    assert static(rewrite, jax.random.key(0), "normal", X)["host_syncs"].passed


def test_watching_leaves_no_trace_in_the_process(caplog):
    before = jax.config.jax_explain_cache_misses, list(logging.getLogger("jax").handlers)
    with compilations() as log:
        jax.jit(lambda x: x - 3)(X)
    assert len(log.compiles) == 1 and len(log.traces) == 1
    jax.jit(lambda x: x - 4)(X)
    assert len(log.compiles) == 1
    assert before == (jax.config.jax_explain_cache_misses, list(logging.getLogger("jax").handlers))
    assert "CACHE MISS" not in caplog.text


@pytest.mark.parametrize(
    ("rewrite", "advice"),
    [
        (lambda x: np.asarray(x) + 1, "NumPy function reads the value"),
        (lambda x: x * float(x[0, 0]), "keep it as an array"),
        (lambda x: x * x[0, 0].item(), "keep it as an array"),
        (lambda x: x if x[0, 0] > 0 else -x, "jnp.where"),
        (lambda x: x[x > 0], "boolean mask"),
        (lambda x: list(range(10))[x[0, 0].astype(int)], "Python index"),
    ],
)
def test_host_synchronisations_are_found_with_their_line_and_advice(rewrite, advice):
    check = static(rewrite, X)["host_syncs"]
    assert not check.passed and check.value == 1
    assert advice in check.message and "test_watch.py:" in check.message


def test_a_rewrite_with_host_parts_can_lift_the_limit():
    found = static(lambda x: np.asarray(x) + 1, X, limits=Limits(host_syncs=None))
    assert found["host_syncs"].passed and found["constant_mb"].value is None and found["constant_mb"].passed
    assert "cannot be traced" in footprint(trace(lambda x: np.asarray(x), (X,)))


def test_callbacks_are_host_synchronisations():
    def rewrite(x):
        jax.debug.callback(print, x[0, 0])
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    check = static(jax.jit(rewrite), X)["host_syncs"]
    assert check.value == 2 and "pure_callback" in check.message


def test_widenings_are_found_inside_loops_with_line_and_bytes():
    def rewrite(x):
        return jax.lax.scan(lambda carry, row: (carry + row.astype(jnp.float32).sum(), None), jnp.float32(0), x)[0]

    check = static(jax.jit(rewrite), X.astype(jnp.bfloat16))["widenings"]
    assert not check.passed and check.value == 1
    assert "3.2e-05 MB bfloat16 to float32 at test_watch.py:" in check.message
    assert static(jax.jit(lambda x: x.astype(jnp.bfloat16)), X)["widenings"].passed


def test_captured_constants_are_found_inside_jitted_functions():
    table = np.ones((1000, 300), np.float32)
    inner = jax.jit(lambda x: x @ table[:8] + table.sum())
    check = static(lambda x: inner(x), X)["constant_mb"]
    assert check.passed and check.value == pytest.approx(0.0096)
    whole = jax.jit(lambda index: jnp.asarray(table)[index])
    check = static(whole, np.arange(4))["constant_mb"]
    assert not check.passed and check.value == pytest.approx(1.2) and "float32[1000, 300]" in check.message


def test_memory_is_that_of_the_plan():
    x = np.ones((512, 512), np.float32)
    found = footprint(trace(jax.jit(lambda x: (x @ x) @ (x + 1)), (x,)))
    assert found.argument_mb == found.output_mb == pytest.approx(512 * 512 * 4 / 1e6)
    assert found.temporary_mb >= found.output_mb, "the first product has to be somewhere"
    assert found.flops == pytest.approx(2 * 2 * 512**3, rel=0.01)
    assert memory_check(found, 100.0).passed and not memory_check(found, 0.5).passed
    assert not memory_check("no plan", 1.0).passed and memory_check("no plan", None).passed
