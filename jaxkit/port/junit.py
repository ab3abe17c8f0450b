"""A run as JUnit XML, the form that CI systems show: each parity check, limit and performance check is a test case."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from typing import Any

from jaxkit.port import wording

# Characters that XML 1.0 does not allow, such as the colour codes of a terminal in a traceback.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(records: Sequence[Mapping[str, Any]]) -> str:
    """Write the records (`Result.to_json()`) of a run as JUnit XML."""
    root = ElementTree.Element("testsuites", name="jaxkit prove")
    for record in records:
        _suite(root, record)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(root: ElementTree.Element, record: Mapping[str, Any]) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=_clean(record["port"]), timestamp=record["started"][:19])
    if record.get("error"):
        _case(suite, record, "run", "runs").append(_outcome("error", record["error"]))
    for check in record["parity"]:
        _check(suite, record, "parity", check)
    for check in record["limits"]:
        _check(suite, record, "performance" if check["name"] == "speedup" else "limit", check)
    if wording.parity_failed(record):
        untimed = "not measured: both sides do not compute the same"
        _case(suite, record, "performance", "times").append(_outcome("skipped", untimed))
    for kind, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{kind}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))


def _check(suite: ElementTree.Element, record: Mapping[str, Any], kind: str, check: Mapping[str, Any]) -> None:
    case = _case(suite, record, kind, wording.check_name(check))
    if not check["passed"]:
        case.append(_outcome("failure", check["message"]))
    elif check["message"]:
        ElementTree.SubElement(case, "system-out").text = _clean(check["message"])


def _case(suite: ElementTree.Element, record: Mapping[str, Any], kind: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=_clean(f"{record['port']}.{kind}"), name=_clean(name))


def _outcome(kind: str, message: str) -> ElementTree.Element:
    outcome = ElementTree.Element(kind, message=_clean(message.strip().splitlines()[0] if message.strip() else kind))
    outcome.text = _clean(message)
    return outcome


def _clean(text: str) -> str:
    return FORBIDDEN.sub("", text)
