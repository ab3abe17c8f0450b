"""The files of a new port, written from an existing function: the old code, a stub, a declaration, a checklist."""

import ast
from pathlib import Path
from typing import Any, NamedTuple

from jaxkit.port.scaffold.care import Advice, Finding, advise, examine
from jaxkit.port.scaffold.guess import Guess, guesses
from jaxkit.port.scaffold.origin import Origin, locate, needed, text_of
from jaxkit.port.scaffold.syntax import imported_names

TEMPLATES = Path(__file__).parent / "templates"
IMPORTS = (ast.Import, ast.ImportFrom)
FILES = ("port.py", "slow.py", "fast.py", "README.md")


class Scaffold(NamedTuple):
    """A port that was written: its folder, where the function came from, and what in it needs care."""

    folder: Path
    origin: Origin
    findings: tuple[Finding, ...]
    advice: tuple[Advice, ...]


def scaffold(target: str, into: Path = Path("ports")) -> Scaffold:
    """Write a port for `MODULE:FUNCTION` (or `file.py:function`) into the folder `into/<function>`.

    slow.py holds the function as it is, with everything of its module that it uses; fast.py a stub of the same
    arguments; port.py declares both with guessed inputs; README.md lists what needs care.

    Raises:
      ValueError: if there is no such plain function, or one of the files is there already.
    """
    origin = locate(target)
    folder = Path(into) / origin.function.name
    taken = [name for name in FILES if (folder / name).exists()]
    if taken:
        raise ValueError(f"{folder} already holds {', '.join(taken)}: remove them, or choose another --into")
    findings = _findings(origin)
    content = _content(origin, findings, folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / name).write_text(_render(name, content), encoding="utf-8")
    return Scaffold(folder, origin, findings, tuple(advise(findings)))


def _findings(origin: Origin) -> tuple[Finding, ...]:
    """Examine the function and those that it calls in its own file."""
    names = imported_names(origin.tree)
    functions = [node for node in needed(origin) if isinstance(node, ast.FunctionDef)]
    return tuple(finding for function in functions for finding in examine(function, names, origin.source))


def _content(origin: Origin, findings: tuple[Finding, ...], folder: Path) -> dict[str, Any]:
    """Gather what the templates show."""
    arguments = guesses(origin.function)
    topics = {finding.topic for finding in findings}
    return {
        "name": origin.function.name,
        "origin": f"{origin.module}:{origin.function.name}",
        "file": origin.path.name,
        "folder": folder.as_posix(),
        "statements": _spaced(origin),
        "arguments": arguments,
        "signature": _signature(arguments),
        "uses": {module for module in ("rng.", "jax.") if any(a.value.startswith(module) for a in arguments)},
        "draws": "random" in topics,
        "whole": "cast" in topics or any(argument.is_picture for argument in arguments),
        "advice": advise(findings),
    }


def _spaced(origin: Origin) -> str:
    """Write the statements that a function needs, with two lines around definitions and one after the imports."""
    text, before = "", None
    for node in needed(origin):
        is_definition = isinstance(node, ast.FunctionDef | ast.ClassDef)
        kind = "definition" if is_definition else "import" if isinstance(node, IMPORTS) else "statement"
        gap = 2 if "definition" in (kind, before) else int(before not in (None, kind))
        text += "\n" * (gap if before else 0) + text_of(node, origin) + "\n"
        before = kind
    return text


def _signature(arguments: list[Guess]) -> str:
    written = [f"{a.name}={a.default}" if a.default else a.name for a in arguments]
    named = next((i for i, argument in enumerate(arguments) if argument.only_named), None)
    return ", ".join(written if named is None else [*written[:named], "*", *written[named:]])


def _render(name: str, content: dict[str, Any]) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(f"{name}.j2").render(content)
