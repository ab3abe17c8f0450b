"""One run of `jaxkit prove`: ports of several paths, loaded and proved; one that breaks does not stop the rest."""

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jaxkit.port.declare import Request
from jaxkit.port.load import LoadError, find, load_file
from jaxkit.port.machine import environment, now
from jaxkit.port.prove import prove
from jaxkit.port.result import BROKEN, Result

Listen = Callable[[str, str, int, int], None]


def run(
    paths: Sequence[Path], request: Request, *, only: Sequence[str] = (), listen: Listen | None = None
) -> list[Result]:
    """Load and prove the ports of `paths`, in order.

    Args:
      paths: folders with a `port.py`, folders of such folders, or `port.py` files.
      request: input, seed and thoroughness of all ports.
      only: names of ports or of their folders; empty for all.
      listen: called as `listen(port, stage, done, total)` while it works.

    Returns:
      A result for each port; one that cannot be found or loaded has the verdict `broken` and says why.
    """
    results = []
    for file, error in _files(paths):
        if error:
            results.append(_broken(file, error))
        elif not only or file.parent.name in only or _declared_name(file) in only:
            results.append(_prove(file, request, listen))
    return results


def _files(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield each `port.py` once with "", and each path that has none with what is wrong with it."""
    seen = set()
    for path in paths:
        try:
            files, error = find(path), ""
        except LoadError as failure:
            files, error = [path], str(failure)
        for file in files:
            if file not in seen:
                seen.add(file)
                yield file, error


def _declared_name(file: Path) -> str:
    try:
        return load_file(file).name
    except LoadError:
        return ""


def _prove(file: Path, request: Request, listen: Listen | None) -> Result:
    try:
        port = load_file(file)
    except LoadError as error:
        return _broken(file, str(error))
    tell = (lambda stage, done, total: listen(port.name, stage, done, total)) if listen else None
    return dataclasses.replace(prove(port, request, listen=tell, path=file.parent), path=_shown(file.parent))


def _broken(file: Path, error: str) -> Result:
    folder = file.parent if file.is_file() else file
    return Result(
        port=folder.resolve().name,
        claim="",
        path=_shown(folder),
        started=now(),
        environment=environment(Path.cwd()),
        verdict=BROKEN,
        error=error,
    )


def _shown(folder: Path) -> str:
    """Write a folder relative to the current one where it lies in it."""
    path = os.path.relpath(folder)
    return str(folder) if path.startswith("..") else Path(path).as_posix()


@contextmanager
def progress(console: Any) -> Iterator[Listen]:
    """Show what is going on: a bar in a terminal, elsewhere a line for each stage. Yields the `listen` of `run`."""
    if not console.is_terminal:
        yield _lines(console)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("loading", total=None)

        def listen(port: str, stage: str, done: int, total: int) -> None:
            bar.update(task, description=f"{port}: {stage}", completed=done, total=total)

        yield listen


def _lines(console: Any) -> Listen:
    last = ""

    def listen(port: str, stage: str, done: int, total: int) -> None:
        nonlocal last
        if f"{port}: {stage}" != last:
            last = f"{port}: {stage}"
            console.print(last, markup=False, highlight=False)

    return listen
