"""What a run tells in the terminal, in JSON, in README and by its exit code."""

import copy
import dataclasses
import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from jaxkit.port import compare, plots, readme, report, wording
from jaxkit.port.declare import Picture, Table
from jaxkit.port.result import Result, Verdict
from jaxkit.port.summary import summarise

RUN = json.loads((Path(__file__).parent / "made_up_run.json").read_text())
PASSED, OVER_LIMIT, UNEQUAL, BROKEN = RUN


def shown(records, width=110):
    console = Console(width=width, file=io.StringIO())
    report.show(records, console)
    return console.file.getvalue()


def result(**fields):
    made = Result("tiny", "It is tiny.", "ports/tiny", "2026-11-30T16:35:49+00:00", {"jax": "0.10.2"}, "passed")
    return dataclasses.replace(made, **fields)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0399, "39.9 ms"), (5.234, "5.23 s"), (1.5e-5, "15.0 µs"), (3e-9, "3.00 ns"), (600.0, "10.0 min"), (None, "–")],
)
def test_seconds_choose_their_unit(value, text):
    assert wording.seconds(value) == text


@pytest.mark.parametrize(("value", "text"), [(1, "1 call"), (12.2, "13 calls"), ("inf", "never"), (None, "–")])
def test_calls_round_up_and_know_infinity(value, text):
    assert wording.calls(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(True, "yes"), (6291456, "6,291,456"), (2.1e-4, "0.00021"), (1.0, "1"), ("rotate", "rotate")]
)
def test_figures_are_readable(value, text):
    assert wording.figure(value) == text


def test_speedup_says_what_it_is_worth():
    sure = {"median": 131.0, "low": 121.0, "high": 141.0, "extrapolated": False}
    assert wording.speedup(sure) == "131× (121–141)"
    assert "extrapolated" in wording.speedup(sure | {"extrapolated": True})
    assert "cannot tell" in wording.speedup({"median": 1.1, "low": 0.9, "high": 1.3})


def test_summary_speaks_of_the_largest_size_and_says_where_slow_stopped():
    line = summarise(PASSED)
    assert (line.size, line.reference, line.rewrite) == ("256", "5.23 s (size 64)", "162 ms")
    assert line.speedup == "129× (119–139, extrapolated)"


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (["passed"], 0),
        (["passed", "parity failed", "too slow"], 1),
        (["limits exceeded", "too slow"], 2),
        (["too slow", "passed"], 3),
        (["broken", "parity failed"], 4),
        ([], 0),
    ],
)
def test_exit_code_is_that_of_the_worst_port(verdicts, code):
    assert report.exit_code(verdicts) == code


def test_table_shows_all_sides_and_costs():
    text = shown([PASSED])
    for part in ("ocr_lines", "parity 4/4", "slow (size 64)", "jaxkit (size 256)", "6.42 s", "2 calls", "6.7 %"):
        assert part in text
    (line,) = [line for line in text.splitlines() if "best numpy" in line]
    assert "1.39 s" in line and "8.6× (7.9–9.3)" in line


@pytest.mark.parametrize("width", [80, 110, 200])
def test_no_number_is_cut_off(width):
    text = shown(RUN, width)
    assert "…" not in text
    assert "6.7 % of" in text and "compile 6.42 s" in text


def test_no_speedup_and_no_time_where_parity_failed():
    record = UNEQUAL | {"measurement": PASSED["measurement"]}
    text = shown([record])
    assert "×" not in text and "5.23 s" not in text
    assert "not independent" in text and "Nothing was timed" in text


def test_failures_stand_in_plain_words_beneath_the_table():
    text = " ".join(shown(RUN).split())
    assert "whisper_mel: Limit, compilations: 4 executables for one shape" in text
    assert "despeckle: Broken: NotImplementedError: fast.despeckle is not written yet" in text


def test_further_tables_are_shown():
    assert "jaxkit, from a PyTorch DataLoader" in shown([PASSED])


@pytest.mark.parametrize(
    ("cells", "numeric"), [((1, 2.5), True), (("80.8 %", ""), True), (("read", "3 ms"), False), ((-1, None), True)]
)
def test_columns_of_numbers_are_told_from_words(cells, numeric):
    assert wording.numeric_columns({"columns": ("a",), "rows": [[cell] for cell in cells]}) == [numeric]


def test_square_brackets_are_text_and_not_markup():
    check = Verdict("close [float32]", False, "the worst value is mel[57, 1204] [bold]")
    text = shown([result(parity=(check,), verdict="parity failed").to_json()])
    assert "mel[57, 1204] [bold]" in text and "close [float32]" in text


def test_files_of_a_run(tmp_path):
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    made = result(pictures=(Picture("stripes", image, image, image),), tables=(Table("t", ("a",), ((1,),)),))
    page = report.write([made], tmp_path / "deep" / "report")
    assert page.name == "index.html"
    names = {file.name for file in page.parent.iterdir()}
    assert names == {"index.html", "junit.xml", "tiny-20261130T163549.json", "tiny-20261130T163549-1.png"}
    record = report.read(page.parent / "tiny-20261130T163549.json")
    assert record["pictures"] == [
        {"title": "stripes", "file": "tiny-20261130T163549-1.png", "difference": "no difference: every value is equal"}
    ]
    assert record | {"pictures": []} == made.to_json() | {"pictures": []}


def test_ports_of_one_name_get_files_of_their_own(tmp_path):
    report.write([result(claim="one"), result(claim="two")], tmp_path)
    claims = {report.read(file)["claim"] for file in tmp_path.glob("*.json")}
    assert claims == {"one", "two"}


@pytest.mark.parametrize("text", ["{", '{"schema": 2}', "[]"])
def test_reading_something_else_says_so(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match="a.json"):
        report.read(tmp_path / "a.json")


def test_difference_is_amplified_and_labelled():
    before = np.full((4, 5, 3), 100, np.uint8)
    after = before.copy()
    after[0, 0, 0] = 97
    gap = plots.difference(before, after)
    assert gap.factor == 64
    assert gap.picture[0, 0, 0] == 3 * 64 and gap.picture.sum() == 3 * 64
    assert gap.caption == "amplified ×64: largest 3 levels, 1.7 % of the values differ"


def test_difference_does_not_wrap_and_knows_shapes():
    black, white = np.zeros((2, 2, 1), np.uint8), np.full((2, 2, 1), 255, np.uint8)
    assert (plots.difference(black, white).picture == 255).all()
    assert "shapes differ" in plots.difference(black, black[:1]).caption


def test_shrinking_keeps_a_single_differing_value():
    picture = np.zeros((8, 3000, 1), np.uint8)
    picture[3, 1234] = 200
    small = plots.shrink(picture, keep="max")
    assert small.shape == (2, 1000, 1) and small.max() == 200
    assert plots.shrink(picture).max() < 200


def test_readme_block_is_rewritten_and_the_rest_kept(tmp_path):
    file = tmp_path / "README.md"
    file.write_text("# Mine\n\n<!-- ports:begin -->\nold\n<!-- ports:end -->\n\nThe end.\n")
    readme.update(file, RUN)
    once = file.read_text()
    assert once.startswith("# Mine\n\n<!-- ports:begin -->\n| port |")
    assert once.endswith("<!-- ports:end -->\n\nThe end.\n")
    assert "old" not in once
    assert "| [ocr_lines](ports/ocr_lines) | proved | 5.23 s (size 64) | 162 ms (size 256) | 129× " in once
    assert "| 2.2× (2.0–2.3) over opencv | 6.42 s | 2 calls |" in once
    assert "| [ellipsoid_union](ports/ellipsoid_union) | parity failed | – | – | – | – | – | – |" in once
    readme.update(file, RUN)
    assert file.read_text() == once


@pytest.mark.parametrize(
    "text",
    ["nothing", f"{readme.END} {readme.BEGIN}", f"{readme.BEGIN} {readme.BEGIN} {readme.END}"],
)
def test_readme_without_a_place_is_left_alone(tmp_path, text):
    file = tmp_path / "README.md"
    file.write_text(text)
    with pytest.raises(ValueError, match="ports:begin"):
        readme.update(file, RUN)
    assert file.read_text() == text


def test_diff_of_a_run_with_itself_finds_nothing_worse():
    changes = compare.compare(PASSED, PASSED)
    assert {change.word for change in changes} == {"cannot tell"}
    assert compare.exit_code(changes) == 0


def test_diff_tells_a_slower_time_from_noise():
    slower = copy.deepcopy(PASSED)
    for time in slower["measurement"]["sides"]["rewrite"].values():
        time |= {name: time[name] * 2 for name in ("median_s", "low_s", "high_s", "min_s")}
    words = {change.about: change.word for change in compare.compare(PASSED, slower)}
    assert words["time at size 256"] == "worse" and words["compile time"] == "cannot tell"
    assert compare.exit_code(compare.compare(PASSED, slower)) == 3
    assert compare.exit_code(compare.compare(slower, PASSED)) == 0


def test_diff_puts_parity_before_limits():
    failed = [check | {"passed": False} for check in PASSED["limits"][:1]]
    limits = PASSED | {"limits": failed + PASSED["limits"][1:]}
    assert compare.exit_code(compare.compare(PASSED, limits)) == 2
    both = limits | {"parity": [check | {"passed": False} for check in PASSED["parity"]]}
    assert compare.exit_code(compare.compare(PASSED, both)) == 1


def test_diff_refuses_different_ports():
    with pytest.raises(ValueError, match="ocr_lines"):
        compare.compare(PASSED, OVER_LIMIT)
