"""Processes that stay alive and take turns: one for each environment, library and number of threads."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmarks import network_worker

HERE = "here"
VARIABLES = {"litert": "JAXKIT_LITERT", "nncf": "JAXKIT_NNCF", "qwix": "JAXKIT_QWIX"}
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
NOT_INSTALLED = "not installed"


class PeerError(Exception):
    """A peer that is not installed or failed; the message is what the result says of it."""


def interpreter(environment: str) -> str:
    """The Python of an environment.

    Raises:
      PeerError: if its variable names none.
    """
    found = sys.executable if environment == HERE else os.environ.get(VARIABLES[environment])
    if not found:
        raise PeerError(f"{NOT_INSTALLED} ({VARIABLES[environment]} is not set)")
    return found


class Worker:
    """A `network_worker` in another process.

    Args:
      environment: "here", or a name in `VARIABLES`.
      threads: cores that the process keeps to, and threads of XLA.

    Raises:
      PeerError: if there is no such interpreter.
    """

    def __init__(self, environment: str, threads: int):
        settings = os.environ | ({"XLA_FLAGS": ONE_THREAD} if threads == 1 else {})
        command = [interpreter(environment), "-I", network_worker.__file__, str(threads)]
        self._log = tempfile.TemporaryFile()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._log}
        try:
            self._process = subprocess.Popen(command, text=True, env=settings, **pipes)
        except OSError as error:
            raise PeerError(f"{NOT_INSTALLED} ({VARIABLES.get(environment)}: {error.strerror})") from error

    def ask(self, do: str, **given: Any) -> Any:
        """What the worker answers.

        Raises:
          PeerError: if it fails or dies.
        """
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"do": do, **given}) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"the process ended: {self._last_line()}")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"] + (f" ({answer['why']})" if "why" in answer else ""))
        return answer["value"]

    def _last_line(self) -> str:
        self._log.seek(0)
        return (self._log.read().decode(errors="replace").strip().splitlines() or ["no word"])[-1]

    def close(self) -> None:
        """Ends the process."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()


@contextlib.contextmanager
def team() -> Iterator[Callable[..., Worker]]:
    """Gives `worker(environment, module, threads)`, which starts a process once and then gives the same one."""
    started: dict[tuple, Worker] = {}

    def worker(environment: str, module: str, threads: int) -> Worker:
        key = environment, module, threads
        if key not in started:
            started[key] = Worker(environment, threads)
        return started[key]

    try:
        yield worker
    finally:
        for one in started.values():
            one.close()


def turns(times: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """What each side measures in each round. The order rotates, so that none always follows the same other."""
    names = list(times)
    found: dict[str, list[float]] = {name: [] for name in names}
    for index in range(rounds):
        first = index % len(names)
        for name in names[first:] + names[:first]:
            found[name].append(times[name]())
    return found
