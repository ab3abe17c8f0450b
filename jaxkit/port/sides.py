"""Calling the user's programs: a crash becomes one sentence that says which program, on what, and where."""

import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax

from jaxkit.port.leaves import own_copy

LIBRARIES = (
    "site-packages",
    "dist-packages",
    "<frozen",
    str(Path(__file__).parents[1]),
    sysconfig.get_paths()["stdlib"],
)


class SideError(Exception):
    """A program of the port crashed; the message says which, on what input, and in which line."""


def user_line(error: BaseException) -> str:
    """The deepest line of a traceback that is not in a library, as `file.py:12`, or nothing."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not in_library(frame.filename)]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""


def in_library(filename: str) -> bool:
    """Whether a source file belongs to Python, an installed package, or jaxkit itself."""
    return any(part in filename for part in LIBRARIES)


def first_line(error: BaseException) -> str:
    """The error's type and the first line of its text."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """Turn any exception inside into a `SideError` that begins with `what`."""
    try:
        yield
    except SideError:
        raise
    except Exception as error:
        line = user_line(error)
        raise SideError(f"{what} failed{f' at {line}' if line else ''}: {first_line(error)}") from error


def call(side: str, function: Callable[..., Any], inputs: tuple, where: str) -> Any:
    """Call one side on its own copy of the inputs and wait for the result.

    Keys among the inputs are given to every side and call, so JAX's check that a key is used once is off meanwhile.

    Raises:
      SideError: if it crashes; the message names the side and `where` (the case).
    """
    with guarded(f"the {side} on {where}"), jax.debug_key_reuse(False):
        return jax.block_until_ready(function(*own_copy(inputs)))


def make_cases(cases: Callable, request: Any) -> tuple:
    """The cases of a request.

    Raises:
      SideError: if there are none, or making them crashes.
    """
    with guarded("making the cases"):
        made = tuple(cases(request))
        if not made:
            raise ValueError("`cases` gave none: nothing would be proved")
    return made
