"""The measurement: what is called how often, and the arithmetic on the times. No test here depends on a clock."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.port import Case, Exact, Port, Request
from jaxkit.port import measure as module
from jaxkit.port.machine import copy_gb_s, environment, machine_share, matrix_gflop_s
from jaxkit.port.measure import ON_DEVICE, Budget, break_even, growth, measure, speedups, time_sides
from jaxkit.port.program import Footprint
from jaxkit.port.result import Speedup, Timing


class Clock:
    """Time that passes only when a side says so."""

    def __init__(self, monkeypatch):
        self.now, self.calls = 0.0, []
        monkeypatch.setattr(module.time, "perf_counter", lambda: self.now)

    def side(self, name, *durations):
        queue = list(durations)

        def run(*inputs):
            self.calls.append(name)
            self.now += queue.pop(0) if len(queue) > 1 else queue[0]
            return np.zeros(1)

        return run


def timing(median, low=None, high=None):
    return Timing(median, low or median, high or median, low or median, 5)


def test_rounds_are_interleaved_and_begin_with_another_side(monkeypatch):
    clock = Clock(monkeypatch)
    sides = {"reference": clock.side("a", 1.0), "rewrite": clock.side("b", 0.5), "numpy": clock.side("c", 0.25)}
    found = time_sides(sides, Budget(rounds=3, seconds=100, patience=100))
    assert "".join(clock.calls) == "aabbcc" + "abc" + "bca" + "cab"
    assert {name: (value.median_s, value.rounds) for name, value in found.items()} == {
        "reference": (1.0, 3), "rewrite": (0.5, 3), "numpy": (0.25, 3)
    }


def test_a_slow_side_gets_fewer_rounds_spread_over_all(monkeypatch):
    clock = Clock(monkeypatch)
    found = time_sides({"reference": clock.side("s", 4.0), "rewrite": clock.side("f", 0.5)}, Budget(12, 10.0, 60.0))
    assert found["reference"].rounds == 3 and found["rewrite"].rounds == 12
    turns = "".join(clock.calls[4:]).replace("sf", "B").replace("fs", "B")
    assert turns == "BfffBfffBfff"


def test_a_hopeless_reference_is_called_once(monkeypatch):
    clock = Clock(monkeypatch)
    found = time_sides({"reference": clock.side("s", 30.0), "rewrite": clock.side("f", 0.5)}, Budget(5, 10.0, 60.0))
    assert clock.calls.count("s") == 1
    assert found["reference"] == Timing(30.0, 30.0, 30.0, 30.0, 1)


def test_quartiles_and_least(monkeypatch):
    clock = Clock(monkeypatch)
    found = time_sides({"rewrite": clock.side("f", 9.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0)}, Budget(5, 100.0, 100.0))
    assert found["rewrite"] == Timing(3.0, 2.0, 4.0, 1.0, 5)


def test_short_calls_are_repeated_within_a_round(monkeypatch):
    clock = Clock(monkeypatch)
    found = time_sides({"rewrite": clock.side("f", 0.0005)}, Budget(3, 1.0, 1.0))
    assert len(clock.calls) == 2 + 3 * 4 and found["rewrite"].median_s == pytest.approx(0.0005)


def test_gains_are_ratios_of_medians_and_extrapolated_ones_say_so():
    sides = {
        "reference": {10: timing(1.0, 0.8, 1.2), 20: timing(2.0, 1.6, 2.4)},
        "rewrite": {10: timing(0.1, 0.05, 0.2), 20: timing(0.1), 80: timing(0.4, 0.2, 0.8)},
        "rewrite in NumPy": {10: timing(0.2), 20: timing(0.4), 80: timing(1.6)},
        ON_DEVICE: {10: timing(0.1)},
    }
    found = speedups(sides)
    assert set(found) == {"reference", "rewrite in NumPy"}
    gain = found["reference"][10]
    assert (gain.median, gain.low, gain.high) == pytest.approx((10.0, 4.0, 24.0)) and not gain.extrapolated
    gain = found["reference"][80]
    assert (gain.median, gain.low, gain.high) == pytest.approx((20.0, 8.0, 48.0)) and gain.extrapolated
    assert found["rewrite in NumPy"][80].median == 4.0


def test_break_even_and_growth():
    assert break_even(3.0, Speedup(4.0, 3.0, 5.0), timing(0.1)) == pytest.approx(3.0 / (0.4 - 0.1))
    assert break_even(3.0, Speedup(0.5, 0.4, 0.6), timing(0.1)) is None
    assert growth({n: timing(1e-6 * n**2) for n in (10, 20, 70)}) == pytest.approx(2.0)
    assert growth({10: timing(1.0)}) is None


def test_the_share_of_the_limit_takes_the_nearer_limit():
    copy, matrix = copy_gb_s(), matrix_gflop_s()
    moves = machine_share(Footprint(0, 0, 0, bytes=copy * 1e9, flops=0.0), rewrite_s=2.0)
    assert moves.limit_s == pytest.approx(1.0) and moves.share_of_limit == pytest.approx(0.5)
    counts = machine_share(Footprint(0, 0, 0, bytes=1.0, flops=matrix * 3e9), rewrite_s=4.0)
    assert counts.share_of_limit == pytest.approx(0.75)
    assert machine_share("no plan", 1.0).share_of_limit is None
    assert copy_gb_s() == copy, "measured once in a process"


def port(**changes):
    declared = {
        "name": "p",
        "claim": "c",
        "reference": lambda x: x * 2,
        "rewrite": jax.jit(lambda x: x * 2),
        "cases": lambda request: [Case("a", (np.ones(3, np.float32),)), Case("b", (np.ones(5, np.float32),))],
        "agreement": (Exact(),),
    }
    return Port(**(declared | changes))


def test_cases_are_measured_where_no_sizes_are_given():
    found = measure(port(), Request(quick=True), "no plan")
    assert found.sizes == (2,) and set(found.sides) == {"reference", "rewrite"}
    assert "one call stands for all cases" in found.note and found.growth == {}


def test_the_reference_is_timed_at_its_own_sizes_only():
    seen = {"reference": set(), "rewrite": set(), "numpy": set()}

    def side(name):
        return lambda x: seen[name].add(x.size) or x * 2

    declared = port(
        reference=side("reference"),
        rewrite=side("rewrite"),
        alternatives={"numpy": side("numpy")},
        inputs=lambda size, request: (np.ones(size),),
        sizes=(4, 64),
        reference_sizes=(2, 4),
    )
    found = measure(declared, Request(quick=True), "no plan", on_device=True)
    assert seen == {"reference": {2, 4}, "rewrite": {2, 4, 64}, "numpy": {2, 4, 64}}
    assert found.speedup["reference"][64].extrapolated and not found.speedup["reference"][4].extrapolated
    assert "extrapolated" in found.note and set(found.sides[ON_DEVICE]) == {2, 4, 64}


def test_inputs_on_the_device_are_device_arrays():
    kinds = []
    declared = port(rewrite=lambda x: kinds.append(type(x)) or jnp.asarray(x))
    measure(declared, Request(quick=True), "no plan", on_device=True)
    assert {np.ndarray} < set(kinds) and any(issubclass(kind, jax.Array) for kind in kinds)


def test_the_environment_names_versions_and_devices(tmp_path):
    found = environment(tmp_path)
    assert found["jax"] == jax.__version__ and found["cores"] >= 1 and found["devices"]
    assert "commit" not in found
