"""The process in which the packages of LiteRT run: how it is found, asked, and ended."""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from jaxkit.export import litert_worker
from jaxkit.export.artifact import in_rows

Array = np.ndarray

PACKAGES = ("litert_converter", "ai_edge_litert")
VARIABLE = "JAXKIT_LITERT"
ADVICE = (
    "python3 -m venv litert && litert/bin/pip install litert-converter ai-edge-litert",
    f"export {VARIABLE}=$PWD/litert/bin/python",
)


def interpreter(python: str | Path | None) -> str:
    """The Python that has the packages of LiteRT: the one named, this one, or that of the variable JAXKIT_LITERT.

    Raises:
      ImportError: if there is none, with the commands that make one.
    """
    if python is not None:
        return os.fspath(python)
    if all(importlib.util.find_spec(name) for name in PACKAGES):
        return sys.executable
    if os.environ.get(VARIABLE):
        return os.environ[VARIABLE]
    raise ImportError(
        "LiteRT files need the packages litert-converter and ai-edge-litert, whose requirements contradict those of "
        "JAX's other companions; give them an environment of their own:\n  " + "\n  ".join(ADVICE)
    )


class Process:
    """A process that answers requests until it is closed or forgotten.

    Args:
      python: the interpreter that runs it.
    """

    def __init__(self, python: str):
        self._log = tempfile.TemporaryFile()
        # Isolated: the folder of the script has modules with the names of packages.
        command = [python, "-I", litert_worker.__file__]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._log}
        try:
            self._process = subprocess.Popen(command, **pipes)
        except OSError as error:
            self._log.close()
            raise ValueError(f"{python} cannot be run ({error}); see {VARIABLE}") from error
        self.close = weakref.finalize(self, _end, self._process, self._log)

    def ask(self, do: str, payload: bytes = b"", **request: Any) -> tuple[dict[str, Any], bytes]:
        """What the worker answers: a dict and bytes.

        Raises:
          RuntimeError: if it fails or dies, with what it said.
        """
        if not self.close.alive:
            raise RuntimeError(f"the LiteRT process was asked to {do} after it was closed")
        try:
            line = json.dumps({"do": do, **request, "size": len(payload)})
            self._process.stdin.write(line.encode() + b"\n" + payload)
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            raise RuntimeError(f"the LiteRT process ended with code {code} when asked to {do}:\n{self._said()}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"LiteRT could not {do}: {answer['error']}\n{self._said()}")
        return answer, _read(self._process.stdout, answer["size"])

    def _said(self) -> str:
        # To move the place in the file would move it for the process, too.
        size = os.fstat(self._log.fileno()).st_size
        lines = os.pread(self._log.fileno(), size, 0).decode(errors="replace").splitlines()
        return "\n".join(line for line in lines if "error" in line.lower()) or "\n".join(lines[-20:])


class Session:
    """An interpreter for a file, in a process that ends with the session.

    Call it with float32 `[N, ...]`. Use it in a `with` statement, call `close`, or let go of it.

    Args:
      path: of a `.tflite` file with float32 input and output.
      threads: of the interpreter.
      python: of an environment that has ai-edge-litert.
    """

    def __init__(self, path: Path, threads: int, python: str):
        self._process = Process(python)
        self.close = self._process.close
        self._rows = self._process.ask("open", path=str(path.resolve()), threads=threads)[0]["rows"]

    def __call__(self, x: Array) -> Array:
        return in_rows(self._run, np.asarray(x, np.float32), rows=self._rows)

    def durations(self, count: int, seconds: float) -> list[float]:
        """Seconds of each of many goes through `count` examples, measured where the interpreter is."""
        return self._process.ask("durations", count=count, seconds=seconds)[0]["seconds"]

    def operations(self) -> list[tuple[str, bool]]:
        """The operations of the file and whether each computes on integers alone."""
        return [(name, integer) for name, integer in self._process.ask("operations")[0]["operations"]]

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self, x: Array) -> Array:
        answer, content = self._process.ask("run", x.tobytes(), shape=x.shape)
        return np.frombuffer(content, np.float32).reshape(answer["shape"])


def _read(stream: BinaryIO, size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise RuntimeError("the LiteRT process ended in the middle of an answer")
    return content


def _end(process: subprocess.Popen, log: BinaryIO) -> None:
    with contextlib.suppress(BrokenPipeError):  # what a dead process did not read is flushed here
        process.stdin.close()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
    log.close()
