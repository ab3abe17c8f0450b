"""What this machine can do at best, and what it is: the yardstick beside every time."""

import functools
import importlib.metadata
import os
import platform
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.port.program import Footprint
from jaxkit.port.result import MachineShare

COPY_BYTES = 2**28
MATRIX_SIDE = 1024
TRIES = 8


def _best(step: Callable[[Any], Any], state: Any) -> float:
    """Least seconds of `state = step(state)` over some tries, after a first one."""
    state = jax.block_until_ready(step(state))
    times = []
    for _ in range(TRIES):
        start = time.perf_counter()
        state = jax.block_until_ready(step(state))
        times.append(time.perf_counter() - start)
    return min(times)


@functools.cache
def copy_gb_s() -> float:
    """Gigabytes (1e9) per second, read and written, when an array of 256 MiB is negated in place, at best."""
    negate = jax.jit(jnp.negative, donate_argnums=0)
    return 2 * COPY_BYTES / _best(negate, jnp.ones(COPY_BYTES // 4, jnp.float32)) / 1e9


@functools.cache
def matrix_gflop_s() -> float:
    """1e9 operations per second of a float32 matrix product of side 1024 in full precision, at best."""
    matrix = jnp.ones((MATRIX_SIDE, MATRIX_SIDE), jnp.float32)
    product = jax.jit(functools.partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST))
    return 2 * MATRIX_SIDE**3 / _best(lambda _: product(matrix, matrix), None) / 1e9


def machine_share(found: Footprint | str, rewrite_s: float) -> MachineShare:
    """Set the counted work against the machine's limits, and the limit against the time of the rewrite."""
    copy, matrix = copy_gb_s(), matrix_gflop_s()
    if isinstance(found, str) or found.bytes is None:
        return MachineShare(copy, matrix)
    limit = max(found.bytes / (copy * 1e9), (found.flops or 0.0) / (matrix * 1e9))
    return MachineShare(copy, matrix, found.bytes, found.flops, limit, limit / rewrite_s)


def environment(folder: Path) -> dict[str, Any]:
    """Versions, processor, devices, and the commit of the folder if it has one."""
    found = {
        "jaxkit": _version("jaxkit"),
        "jax": jax.__version__,
        "jaxlib": _version("jaxlib"),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "devices": [f"{device.platform}: {device.device_kind}" for device in jax.devices()],
    }
    commit = _commit(folder)
    return found | ({"commit": commit} if commit else {})


def now() -> str:
    """The time as ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _commit(folder: Path) -> str | None:
    command = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.strip() or None
