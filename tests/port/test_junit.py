"""JUnit XML: one test case for each check, with its outcome."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from jaxkit.port import junit

RUN = json.loads((Path(__file__).parent / "made_up_run.json").read_text())


def suites(records=RUN):
    root = ElementTree.fromstring(junit.document(records).encode())
    return {suite.get("name"): suite for suite in root}


def test_every_check_is_a_case():
    suite = suites()["ocr_lines"]
    names = [(case.get("classname"), case.get("name")) for case in suite]
    assert len(names) == len(RUN[0]["parity"]) + len(RUN[0]["limits"])
    assert ("ocr_lines.parity", "levels (rendered fonts)") in names
    assert ("ocr_lines.limit", "compilations") in names
    assert ("ocr_lines.performance", "speedup") in names


def test_failures_carry_their_message():
    failure = suites()["whisper_mel"].find("testcase/failure")
    assert failure.get("message").startswith("4 executables for one shape")


def test_counts_are_those_of_the_cases():
    for suite in suites().values():
        assert int(suite.get("tests")) == len(suite.findall("testcase"))
        assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
        assert int(suite.get("errors")) == len(suite.findall("testcase/error"))
    assert suites()["whisper_mel"].get("failures") == "1"


def test_performance_is_skipped_where_parity_failed():
    suite = suites()["ellipsoid_union"]
    skipped = [case for case in suite if case.find("skipped") is not None]
    assert [case.get("classname") for case in skipped] == ["ellipsoid_union.performance"]


def test_a_crash_is_an_error():
    error = suites()["despeckle"].find("testcase/error")
    assert "not written yet" in error.get("message")


def test_characters_that_xml_forbids_are_left_out():
    record = RUN[3] | {"error": "\x1b[31mred\x1b[0m & <tag> \x00 \ud800 end"}
    error = suites([record])["despeckle"].find("testcase/error")
    assert error.text == "[31mred[0m & <tag>   end"
