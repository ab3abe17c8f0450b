"""Settings of the whole suite: stricter than a user's program has to be."""

import zlib

import jax
import numpy as np
import pytest

# Eight CPU devices for the tests of `batch(op, mesh=...)`. It must come before the first computation; everything else
# runs on the first device, no slower than alone.
jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_debug_key_reuse", True)

COMPILED = "/jax/core/compile/backend_compile_duration"
_programs: list[str] = []


def _count(event: str, duration: float, **details: object) -> None:
    del duration
    if event == COMPILED:
        _programs.append(str(details.get("fun_name", "?")))


jax.monitoring.register_event_duration_secs_listener(_count)


@pytest.fixture
def programs():
    """The names of the programs that XLA has compiled so far, growing while a test runs."""
    return _programs


@pytest.fixture
def rng(request):
    """A NumPy generator that depends on the name of the test only."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


def pytest_configure(config):
    config.addinivalue_line("markers", "xdist_group(name): tests that share a process under pytest-xdist")


def pytest_collection_modifyitems(items):
    """With `pytest -n 2 --dist loadgroup`, tests of one catalogue entry share a process and its compiled programs."""
    for item in items:
        entry = getattr(item, "callspec", None) and item.callspec.params.get("entry")
        if entry:
            item.add_marker(pytest.mark.xdist_group(entry.name))
