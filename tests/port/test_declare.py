"""Declarations that cannot be run are refused when they are made."""

import json
from dataclasses import replace

import numpy as np
import pytest

from jaxkit.port import Case, Exact, Limits, Picture, Port, Table
from jaxkit.port.result import LimitCheck, Measurement, Result, Speedup, Timing, Verdict
from jaxkit.port.result import MachineShare as Share


def good() -> Port:
    return Port(
        name="double",
        claim="doubles an array faster",
        reference=lambda x: x * 2,
        rewrite=lambda x: x + x,
        cases=lambda request: [Case("one", (np.ones(3),))],
        agreement=(Exact(),),
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": " "}, "port name ' '"),
        ({"name": "a/b"}, "without slashes"),
        ({"agreement": ()}, "no agreement"),
        ({"agreement": Exact()}, "must be a tuple"),
        ({"agreement": (Exact,)}, "Exact"),
        ({"reference": 3}, "reference of port 'double' is 3"),
        ({"alternatives": {"numpy": None}}, "alternative 'numpy'"),
        ({"alternatives": {"rewrite": abs}}, "is taken"),
        ({"sizes": (1, 2)}, "needs `inputs` and `sizes`"),
        ({"inputs": lambda size, request: ()}, "needs `inputs` and `sizes`"),
        ({"inputs": lambda size, request: (), "sizes": (4, 2)}, "ascending"),
        ({"inputs": lambda size, request: (), "sizes": (0, 2)}, "at least 1"),
        ({"reference_sizes": (3,)}, "give|needs"),
        ({"deviations": "one"}, "tuple of sentences"),
    ],
)
def test_wrong_ports_are_refused(change, told):
    with pytest.raises(ValueError, match=told):
        replace(good(), **change)


def test_other_wrong_declarations_are_refused():
    with pytest.raises(ValueError, match="compilations=-1"):
        Limits(compilations=-1)
    with pytest.raises(ValueError, match="a case needs a name"):
        Case("", ())
    with pytest.raises(ValueError, match="is a ndarray"):
        Case("one", np.ones(3))
    with pytest.raises(ValueError, match="2 columns, but a row of 1"):
        Table("times", ("a", "b"), ((1,),))
    with pytest.raises(ValueError, match=r"float64\[2, 2\]"):
        Picture("page", np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 2)))


def test_a_result_is_json_that_any_reader_accepts():
    timing = Timing(np.float64(2.0), 1.0, 3.0, 0.5, 4)
    measurement = Measurement(
        sizes=(8,),
        sides={"reference": {8: timing}},
        speedup={"reference": {8: Speedup(3.0, 1.5, 4.0)}},
        compile_s=0.25,
        break_even_calls=None,
        growth={},
        machine=Share(10.0, 100.0),
    )
    result = Result(
        port="double",
        claim="doubles",
        path="ports/double/port.py",
        started="2026-01-01T00:00:00+00:00",
        environment={"cores": np.int64(2)},
        verdict="passed",
        parity=(
            Verdict("close", True, "fine", {"p": float("nan"), "n": np.float32(0.5)}),
            Verdict("exact", True, "fine", {}, "a"),
        ),
        limits=(LimitCheck("compilations", True, 1, 1, "one"),),
        measurement=measurement,
        tables=(Table("t", ("a",), ((np.int32(1),),)),),
    )
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert document["schema"] == 1
    assert document["environment"] == {"cores": 2}
    assert document["parity"][0]["figures"] == {"p": "nan", "n": 0.5} and "case" not in document["parity"][0]
    assert document["parity"][1]["case"] == "a"
    assert document["measurement"]["sides"]["reference"]["8"] == {
        "median_s": 2.0, "low_s": 1.0, "high_s": 3.0, "min_s": 0.5, "rounds": 4
    }
    assert document["measurement"]["speedup"]["reference"]["8"]["word"] == "faster"
    assert document["tables"] == [{"title": "t", "columns": ["a"], "rows": [[1]], "note": ""}]


@pytest.mark.parametrize(
    ("low", "high", "word"), [(1.1, 2.0, "faster"), (0.9, 1.1, "cannot tell"), (0.5, 0.9, "slower")]
)
def test_a_gain_whose_spread_includes_one_cannot_be_told(low, high, word):
    assert Speedup((low + high) / 2, low, high).word == word
