"""What in a NumPy or PyTorch function needs care when it is rewritten in JAX."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from jaxkit.port.scaffold.rules import RULES
from jaxkit.port.scaffold.syntax import scope_of
from jaxkit.port.scaffold.topics import TOPICS, Topic


class Finding(NamedTuple):
    """One place that needs care: the line in its file, the code there, and the topic (a key of `TOPICS`)."""

    line: int
    code: str
    topic: str


class Advice(NamedTuple):
    """All places of one topic in a function, and what the topic says."""

    topic: Topic
    places: tuple[Finding, ...]


def examine(function: ast.FunctionDef, names: Mapping[str, str], source: str) -> list[Finding]:
    """Find the places of a function that need care, in the order of their lines.

    Args:
      function: the definition, with the line numbers of its file.
      names: what imports of its module are called, such as `{"np": "numpy"}`.
      source: text of the file.
    """
    scope = scope_of(function, names)
    lines = source.splitlines()
    found = {
        Finding(node.lineno, lines[node.lineno - 1].strip(), topic)
        for node in _body(function)
        for topic, matches in RULES.items()
        if matches(node, scope)
    }
    order = list(TOPICS)
    return sorted(found, key=lambda finding: (finding.line, order.index(finding.topic)))


def advise(findings: Sequence[Finding]) -> list[Advice]:
    """Gather findings by topic, in the order in which the topics first occur."""
    topics = dict.fromkeys(finding.topic for finding in findings)
    return [Advice(TOPICS[topic], tuple(f for f in findings if f.topic == topic)) for topic in topics]


def _body(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function that have a line, its own definition and annotations left out."""
    yield from _located(function.args.defaults + [d for d in function.args.kw_defaults if d])
    yield from _located(function.body)


def _located(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        yield from (part for part in ast.walk(node) if hasattr(part, "lineno"))
