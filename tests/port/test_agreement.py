"""Agreement of deterministic programs: what passes, what fails, and what the message names."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.port import Case, Close, Exact, Levels, Port, Request
from jaxkit.port.sides import SideError


class Tensor:
    """Behaves as a torch tensor does where it matters: detach, cpu, numpy; no `__array__`."""

    def __init__(self, value):
        self.value, self.dtype = value, value.dtype

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.value


def check(agreement, reference, rewrite, *inputs):
    port = Port("p", "c", reference, rewrite, lambda request: [Case("the case", inputs)], (agreement,))
    return agreement.check(port, Request())


def answer(value):
    return lambda *inputs: value


def test_exact_takes_equal_pytrees_from_any_library():
    image = np.arange(6, dtype=np.uint8).reshape(2, 3)
    mel = np.array([0.5, np.nan, -np.inf], np.float32)
    verdict = check(Exact(), answer({"a": image, "b": (mel,)}), answer({"a": jnp.asarray(image), "b": (Tensor(mel),)}))
    assert verdict.passed and verdict.figures["values"] == 9
    empty = np.zeros((0, 3), np.float32)
    assert check(Exact(), answer(empty), answer(jnp.asarray(empty))).passed
    assert check(Exact(), answer(jax.random.key(1)), answer(jax.random.key(1))).passed
    assert not check(Exact(), answer(jax.random.key(1)), answer(jax.random.key(2))).passed


@pytest.mark.parametrize(
    ("reference", "rewrite", "told"),
    [
        (np.zeros(3, np.float32), np.zeros(3, np.float64), r"dtype.*float32\[3\].*float64\[3\]"),
        (np.zeros((2, 3), np.uint8), np.zeros((3, 2), np.uint8), r"shape.*uint8\[2, 3\].*uint8\[3, 2\]"),
        ({"a": np.zeros(1)}, (np.zeros(1),), "structure differs.*'a'"),
        (np.zeros(3), np.array([0.0, 0.0, 1e-300]), r"1 of 3 values of result differ, the first at result\[2\]"),
        (np.array([np.nan]), np.array([0.0]), "the reference gives nan, the rewrite gives 0.0"),
        (np.array([0.0]), np.array([-0.0]), "gives -0.0"),
        ([np.zeros(2), np.eye(2)], [np.zeros(2), 2 * np.eye(2)], r"result\[1\]\[0, 0\]"),
        (np.array(1 + 2j), np.array(1 + 3j), r"1\+2j"),
    ],
)
def test_exact_says_what_differs_and_where(reference, rewrite, told):
    verdict = check(Exact(), answer(reference), answer(rewrite))
    assert not verdict.passed and verdict.case == "the case"
    assert re.search(told, verdict.message), verdict.message


def test_levels_allows_few_small_differences():
    image = np.full((10, 100), 100, np.uint8)
    one = image.copy()
    one[3, 7] += 1
    verdict = check(Levels(), answer(image), answer(one))
    assert verdict.passed and verdict.figures == {"cases": 1, "largest difference": 1, "share that differs": 0.001}
    assert "result[3, 7]" in verdict.message
    one[5, 5] = 99
    assert not check(Levels(), answer(image), answer(one)).passed
    two = image.copy()
    two[0, 1] = 98
    assert not check(Levels(), answer(image), answer(two)).passed
    assert check(Levels(most=2), answer(image), answer(two)).passed


def test_levels_does_not_wrap_and_refuses_floats():
    far = check(Levels(most=300, share=1.0), answer(np.array([0, 255], np.uint8)), answer(np.array([255, 0], np.uint8)))
    assert far.figures["largest difference"] == 255
    wide = check(Levels(), answer(np.array([-(2**63)])), answer(np.array([2**63 - 1])))
    assert wide.figures["largest difference"] == 2**64 - 1
    verdict = check(Levels(), answer(np.zeros(2)), answer(np.zeros(2)))
    assert not verdict.passed and "Close(truth=...)" in verdict.message


def log_sum(x, dtype):
    return np.cumsum(x.astype(dtype)) / dtype(7)


def test_close_measures_by_the_error_of_the_reference():
    x = np.random.default_rng(0).uniform(1, 2, 20_000).astype(np.float32)
    truth, reference = (lambda x: log_sum(x, np.float64)), (lambda x: log_sum(x, np.float32))
    error = np.linalg.norm(reference(x) - truth(x)) / np.linalg.norm(truth(x))
    same = check(Close(truth), reference, reference, x)
    assert same.passed and same.figures["error of the reference"] == pytest.approx(error, rel=1e-12)
    assert error > 4 * np.finfo(np.float32).eps, "the reference must be the yardstick here, not the floor"

    def off(by):
        return lambda x: (truth(x) * (1 + by * error)).astype(np.float32)

    assert check(Close(truth), reference, off(1.8), x).passed
    assert not check(Close(truth), reference, off(2.2), x).passed
    assert check(Close(truth, factor=3.0), reference, off(2.2), x).passed


def test_close_names_the_worst_place_and_both_errors():
    x = np.linspace(1, 2, 12, dtype=np.float32).reshape(3, 4)
    spoilt = x.copy()
    spoilt[2, 1] += 0.5
    verdict = check(Close(lambda x: {"y": x.astype(np.float64)}), lambda x: {"y": x}, answer({"y": spoilt}), x)
    assert not verdict.passed and verdict.figures["worst place"] == "result['y'][2, 1]"
    assert verdict.figures["largest difference"] == pytest.approx(0.5)
    assert verdict.figures["error of the reference"] == 0.0


def test_close_accepts_float32_for_an_exact_float64_reference_but_not_half():
    x = np.random.default_rng(0).normal(size=100)
    program = lambda x: x * 3  # noqa: E731
    assert check(Close(program), program, lambda x: (x * 3).astype(np.float32), x).passed
    verdict = check(Close(program), program, lambda x: (x * 3).astype(np.float16), x)
    assert not verdict.passed and "float64[100]" in verdict.message and "float16[100]" in verdict.message


def test_close_wants_the_same_nan_and_infinities():
    value = np.array([1.0, np.nan, np.inf], np.float32)
    assert check(Close(answer(value.astype(np.float64))), answer(value), answer(value)).passed
    for wrong in (np.array([1.0, 2.0, np.inf], np.float32), np.array([1.0, np.nan, -np.inf], np.float32)):
        verdict = check(Close(answer(value.astype(np.float64))), answer(value), answer(wrong))
        assert not verdict.passed and "not finite on one side only" in verdict.message


def test_close_copes_with_empty_and_zero_arrays():
    for value in (np.zeros((0, 2), np.float32), np.zeros(3, np.float32)):
        assert check(Close(answer(value.astype(np.float64))), answer(value), answer(value)).passed
    zero, tiny = np.zeros(3, np.float32), np.full(3, 1e-3, np.float32)
    assert not check(Close(answer(zero.astype(np.float64))), answer(zero), answer(tiny)).passed
    assert not check(Close(answer(())), answer(()), answer(())).passed


def test_overrides_replace_the_programs_and_cases_of_the_port():
    drawn = [Case("drawn", (1.0, 2.0))]
    injected = Exact(reference=lambda x, d: x + d, rewrite=lambda x, d: d + x, cases=lambda request: drawn)
    assert check(injected, answer(1), answer(2)).passed


def test_one_side_cannot_change_the_inputs_of_the_other():
    def in_place(x):
        x += 1
        return x

    assert check(Exact(), in_place, lambda x: x + 1, np.zeros(3)).passed


def test_a_crash_says_which_side_which_case_and_where():
    def crash(x):
        raise IndexError("row 7 of 5")

    told = r"the rewrite on case 'the case' failed at test_agreement.py:\d+: IndexError: row 7"
    with pytest.raises(SideError, match=told):
        check(Exact(), answer(1), crash, np.zeros(3))
    with pytest.raises(SideError, match="cannot be compared: .* is not an array"):
        check(Exact(), answer(object()), answer(1))


def test_wrong_agreements_are_refused_when_built():
    with pytest.raises(ValueError, match="most >= 0"):
        Levels(most=-1)
    with pytest.raises(ValueError, match="factor of 1 or more"):
        Close(abs, factor=0.5)
    with pytest.raises(ValueError, match="float64 program"):
        Close(truth=None)
