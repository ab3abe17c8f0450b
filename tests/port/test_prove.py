"""Whole ports: a good one passes, and each way of being wrong ends in its own verdict without losing the rest."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.port import Case, Exact, Limits, Picture, Port, Request, SameDistribution, Table, prove

QUICK = Request(quick=True)
GREY = np.zeros((2, 2, 1), np.uint8)


def slow(x):
    return np.array([float(value) * 2 for value in x], np.float32)


fast = jax.jit(lambda x: x * 2)


def cases(request):
    rng = np.random.default_rng(request.seed)
    return [Case(f"{n} values", (rng.integers(0, 99, n).astype(np.float32),)) for n in (3, 5)]


def run(**changes):
    declared = {
        "name": "double",
        "claim": "doubles faster",
        "reference": slow,
        "rewrite": fast,
        "cases": cases,
        "agreement": (Exact(),),
        "inputs": lambda size, request: (np.ones(size, np.float32),),
        "sizes": (8, 64),
        "tables": lambda request: [Table("t", ("a",), ((1,),))],
        "pictures": lambda request: [Picture("p", GREY, GREY, GREY)],
    }
    stages = []
    result = prove(Port(**(declared | changes)), QUICK, listen=lambda *stage: stages.append(stage))
    json.dumps(result.to_json(), allow_nan=False)
    return result, stages


def test_a_good_port_passes_with_everything_filled_in():
    result, stages = run(deviations=("none worth the name",))
    assert result.verdict == "passed" and result.error is None
    assert [check.name for check in result.limits] == [
        "compilations", "recompilations", "host_syncs", "widenings", "constant_mb", "temporary_mb",
        "compile_seconds", "speedup",
    ]
    assert all(check.passed for check in result.limits)
    assert set(result.measurement.speedup["reference"]) == {8, 64}
    assert (len(result.tables), len(result.pictures), len(result.deviations)) == (1, 1, 1)
    assert result.path.endswith("test_prove.py")
    assert {"compiling", "parity: exact", "limits", "measuring size 8", "tables"} <= {stage for stage, _, _ in stages}


def test_no_time_is_taken_where_parity_fails():
    result, _ = run(rewrite=jax.jit(lambda x: x * 3))
    assert result.verdict == "parity failed" and result.measurement is None and result.tables == ()
    assert result.parity[0].case == "3 values" and len(result.pictures) == 1
    assert not {"compile_seconds", "speedup"} & {check.name for check in result.limits}
    assert result.to_json()["measurement"] is None


def failed(result):
    return {check.name for check in result.limits if not check.passed}


def test_a_retrace_at_every_call_exceeds_the_limits():
    result, _ = run(rewrite=lambda x: jax.jit(lambda y: y * 2)(x))
    assert result.verdict == "limits exceeded" and failed(result) == {"recompilations"}


def test_a_host_synchronisation_exceeds_the_limits():
    result, _ = run(rewrite=lambda x: np.asarray(fast(x)))
    assert result.verdict == "limits exceeded" and failed(result) == {"host_syncs"}
    assert run(rewrite=lambda x: np.asarray(fast(x)), limits=Limits(host_syncs=None))[0].verdict == "passed"


def test_a_big_constant_exceeds_the_limits():
    table = np.full(2_000_000, 2.0, np.float32)
    result, _ = run(rewrite=jax.jit(lambda x: x * jnp.asarray(table)[: x.size]))
    assert result.verdict == "limits exceeded" and failed(result) == {"constant_mb"}


def test_a_missed_gain_is_too_slow():
    result, _ = run(limits=Limits(speedup=1e9))
    assert result.verdict == "too slow" and failed(result) == {"speedup"} and result.measurement is not None


def test_a_compilation_that_takes_too_long_exceeds_the_limits():
    result, _ = run(limits=Limits(compile_seconds=0.0, speedup=1e9))
    assert result.verdict == "limits exceeded" and failed(result) == {"compile_seconds", "speedup"}


def test_a_shared_key_fails_parity():
    def draws(seed, count):
        return np.random.default_rng([seed, 0]).uniform(size=(count, 1))

    def shared(seed, count):
        key = jax.random.key(seed)
        return jax.vmap(lambda i: jax.random.uniform(key, (1,)))(jnp.arange(count))

    result, _ = run(agreement=(Exact(), SameDistribution(draws, shared, ("angle",))))
    assert result.verdict == "parity failed" and [verdict.passed for verdict in result.parity] == [True, False]
    assert "one key shared by a batch" in result.parity[1].message


def explode(*arguments):
    raise RuntimeError("out of paper\nand a long explanation")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rewrite": explode}, "the rewrite on case '3 values' failed at test_prove.py"),
        ({"reference": explode}, "the reference on case '3 values' failed at test_prove.py"),
        ({"cases": explode}, "making the cases failed"),
        ({"cases": lambda request: []}, "`cases` gave none"),
        ({"inputs": explode}, "making the inputs of size 64 failed"),
        ({"alternatives": {"numpy": explode}}, "the numpy in the measurement failed"),
    ],
)
def test_a_crash_is_told_in_one_sentence(changes, told):
    result, _ = run(**changes)
    assert result.verdict == "broken" and told in result.error and "\n" not in result.error
    assert result.measurement is None


def test_a_crash_in_an_extra_loses_only_the_extra():
    result, _ = run(tables=explode)
    assert result.verdict == "broken" and "making the tables failed" in result.error
    assert result.measurement is not None and result.parity[0].passed and len(result.pictures) == 1
    result, _ = run(pictures=explode, rewrite=jax.jit(lambda x: x * 3))
    assert result.verdict == "parity failed" and "making the pictures failed" in result.error


def test_keys_may_be_inputs():
    def draw(key, x):
        return x + jax.random.uniform(key, x.shape)

    def keyed(request):
        return [Case("key", (jax.random.key(request.seed), np.ones(4, np.float32)))]

    result, _ = run(reference=jax.jit(draw), rewrite=jax.jit(draw), cases=keyed, inputs=None, sizes=())
    assert result.verdict == "passed" and result.measurement.sizes == (1,)
