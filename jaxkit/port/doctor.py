"""`jaxkit doctor`: what this machine and its settings are, and what in them slows JAX down or breaks it."""

import importlib.metadata
import multiprocessing
import os
import platform
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

PACKAGES = ("jaxkit", "jax", "jaxlib", "numpy", "flax", "optax", "torch")
MEMORY = ("XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_ALLOCATOR")
VARIABLES = (*MEMORY, "XLA_FLAGS", "JAX_PLATFORMS", "OMP_NUM_THREADS")
VECTORS = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "asimd", "sve")
SLOW_SWITCHES = (
    *("jax_disable_jit", "jax_debug_nans", "jax_debug_infs", "jax_check_tracer_leaks", "jax_enable_checks"),
    *("jax_log_compiles", "jax_explain_cache_misses", "jax_debug_key_reuse"),
)
UNSET = "not set"


class Setup(NamedTuple):
    """What `observe` saw. `accelerators` are those that the system shows, whether JAX uses them or not."""

    versions: Mapping[str, str]
    system: str
    processor: str
    cores: int
    usable_cores: float
    vectors: tuple[str, ...]
    memory_gb: float | None
    accelerators: tuple[str, ...]
    backend: str
    devices: tuple[str, ...]
    x64: bool
    matmul_precision: str | None
    cache: str | None
    switches: tuple[str, ...]
    start_method: str
    is_forked: bool
    variables: Mapping[str, str]


class Caution(NamedTuple):
    """Something that costs time or breaks, and what to do about it."""

    problem: str
    remedy: str


def observe() -> Setup:
    """Look at this process and its machine. Starts JAX on its devices; imports neither torch nor flax."""
    import jax

    return Setup(
        versions={name: version for name in PACKAGES if (version := _version(name))},
        system=f"{platform.platform()}, Python {platform.python_version()}",
        processor=_field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        cores=os.cpu_count() or 1,
        usable_cores=_usable_cores(),
        vectors=_vectors(),
        memory_gb=_memory_gb(),
        accelerators=tuple(_accelerators()),
        backend=jax.default_backend(),
        devices=tuple(_device(device) for device in jax.local_devices()),
        x64=bool(jax.config.jax_enable_x64),
        matmul_precision=jax.config.jax_default_matmul_precision,
        cache=jax.config.jax_compilation_cache_dir,
        switches=tuple(name for name in SLOW_SWITCHES if getattr(jax.config, name, False)),
        start_method=_start_method(),
        is_forked=_start_method() == "fork" and multiprocessing.parent_process() is not None,
        variables={name: os.environ[name] for name in VARIABLES if name in os.environ},
    )


def facts(setup: Setup) -> dict[str, dict[str, str]]:
    """Write a setup as headings with names and values."""
    return {
        "Versions": dict(setup.versions),
        "Machine": _machine(setup),
        "Devices": {"backend": setup.backend} | {str(n): device for n, device in enumerate(setup.devices)},
        "Numbers": {
            "64-bit (jax_enable_x64)": "on" if setup.x64 else "off: 64-bit inputs are narrowed to 32 bits",
            "matrix products": setup.matmul_precision or "default (the backend's choice)",
        },
        "Compilation": {
            "cache (jax_compilation_cache_dir)": setup.cache or UNSET,
            "switches that slow it": ", ".join(setup.switches) or "none",
        },
        "Processes": {"start method": setup.start_method, "this one was forked": "yes" if setup.is_forked else "no"},
        "Environment": {name: setup.variables.get(name, UNSET) for name in VARIABLES},
    }


def _machine(setup: Setup) -> dict[str, str]:
    return {
        "system": setup.system,
        "processor": setup.processor,
        "vector units": ", ".join(setup.vectors) or "unknown",
        "cores": f"{setup.cores}" + (f", usable {setup.usable_cores:g}" if setup.usable_cores < setup.cores else ""),
        "memory": f"{setup.memory_gb:.1f} GB" if setup.memory_gb else "unknown",
    }


def cautions(setup: Setup) -> list[Caution]:
    """List what in a setup costs time or breaks, each with its remedy."""
    checks = (_about_versions, _about_devices, _about_processor, _about_numbers, _about_memory, _about_compiling)
    return [caution for check in (*checks, _about_processes) for caution in check(setup)]


def _about_versions(setup: Setup) -> Iterator[Caution]:
    jax, jaxlib = (_release(setup.versions.get(name, "0")) for name in ("jax", "jaxlib"))
    if not (0, 10) <= jax < (0, 13):
        found = setup.versions.get("jax", "none")
        yield Caution(f"jaxkit is made for jax 0.10 to 0.12, not {found}", 'pip install "jax>=0.10,<0.13"')
    if jax != jaxlib:
        yield Caution("jax and jaxlib are of different releases", "pip install --upgrade jax jaxlib, in one command")


def _about_devices(setup: Setup) -> Iterator[Caution]:
    if setup.backend == "cpu" and setup.accelerators:
        found = ", ".join(setup.accelerators)
        forced = setup.variables.get("JAX_PLATFORMS")
        remedy = f"unset JAX_PLATFORMS (it is {forced!r})" if forced else 'pip install "jax[cuda13]" or "jax[tpu]"'
        yield Caution(f"the machine has {found}, but JAX runs on the CPU", remedy)
    if "host_platform_device_count" in setup.variables.get("XLA_FLAGS", ""):
        yield Caution("the CPU poses as several devices, which is for tests", "unset XLA_FLAGS before measuring")


def _about_processor(setup: Setup) -> Iterator[Caution]:
    if setup.usable_cores < setup.cores:
        problem = f"only {setup.usable_cores:g} of {setup.cores} cores may be used, but thread pools may count all"
        yield Caution(problem, f"start with `taskset -c 0-{max(0, int(setup.usable_cores) - 1)}`")
    if setup.vectors and not {"avx2", "asimd", "sve"} & set(setup.vectors):
        yield Caution("the processor has no AVX2: array loops run at a fraction of the speed", "use another machine")


def _about_numbers(setup: Setup) -> Iterator[Caution]:
    if setup.x64:
        yield Caution("64-bit is on: NumPy inputs stay float64, twice as wide and slow", "unset JAX_ENABLE_X64")
    if setup.backend in ("gpu", "cuda", "rocm", "tpu") and setup.matmul_precision is None:
        kind = "bfloat16" if setup.backend == "tpu" else "TF32"
        problem = f"float32 matrix products and convolutions may run in {kind}: errors near 1e-2 to 1e-3"
        yield Caution(problem, 'say `precision="highest"` where it matters, or jax.default_matmul_precision("float32")')


def _about_memory(setup: Setup) -> Iterator[Caution]:
    takes_all = setup.variables.get(MEMORY[0], "true").lower() not in ("false", "0")
    if setup.backend in ("gpu", "cuda", "rocm") and takes_all and "torch" in setup.versions:
        problem = "JAX takes three quarters of the GPU's memory at its first use: torch beside it runs out"
        yield Caution(problem, "export XLA_PYTHON_CLIENT_PREALLOCATE=false, or set XLA_PYTHON_CLIENT_MEM_FRACTION")
    if setup.variables.get(MEMORY[2]) == "platform":
        yield Caution("the allocator `platform` asks the driver for every array", "unset XLA_PYTHON_CLIENT_ALLOCATOR")


def _about_compiling(setup: Setup) -> Iterator[Caution]:
    if not setup.cache:
        remedy = 'jax.config.update("jax_compilation_cache_dir", "/some/folder"), or export JAX_COMPILATION_CACHE_DIR'
        yield Caution("every new process compiles again: no compilation cache is set", remedy)
    for switch in setup.switches:
        yield Caution(f"{switch} is on and slows everything", f'jax.config.update("{switch}", False) to measure')


def _about_processes(setup: Setup) -> Iterator[Caution]:
    remedy = 'DataLoader(..., multiprocessing_context="forkserver"), or multiprocessing.set_start_method("spawn")'
    if setup.is_forked:
        yield Caution("this process was forked: JAX hangs if its parent had started it", remedy)
    elif setup.start_method == "fork":
        yield Caution("worker processes are forked by default, and hang once JAX has started", remedy)


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def _device(device: Any) -> str:
    stats = device.memory_stats() or {}
    limit = stats.get("bytes_limit")
    return f"{device.device_kind}" + (f", {limit / 1e9:.1f} GB for JAX" if limit else "")


def _field(path: str, name: str) -> str:
    """Read a field of one of the `name : value` files under /proc; "" where there is none, as outside Linux."""
    if not Path(path).is_file():
        return ""
    match = re.search(rf"^{name}\s*:\s*(.*)$", Path(path).read_text(errors="replace"), re.MULTILINE)
    return match[1].strip() if match else ""


def _vectors() -> tuple[str, ...]:
    flags = (_field("/proc/cpuinfo", "flags") or _field("/proc/cpuinfo", "Features")).split()
    return tuple(name for name in VECTORS if name in flags)


def _memory_gb() -> float | None:
    total = _field("/proc/meminfo", "MemTotal").split()
    return int(total[0]) * 1024 / 1e9 if total else None


def _start_method() -> str:
    """Name the start method of this process without fixing it, as `get_start_method()` would."""
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]


def _usable_cores() -> float:
    """Count the cores that affinity and the container's quota leave to this process."""
    cores = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    quota = Path("/sys/fs/cgroup/cpu.max")
    limit = quota.read_text().split() if quota.is_file() else ["max"]
    return cores if limit[0] == "max" else min(cores, int(limit[0]) / int(limit[1]))


def _accelerators() -> Iterator[str]:
    """Name accelerators by their device files; Linux only."""
    if list(Path("/dev").glob("nvidia[0-9]*")):
        yield "an NVIDIA GPU"
    if Path("/dev/kfd").exists():
        yield "an AMD GPU"
    if list(Path("/dev").glob("accel[0-9]*")):
        yield "a TPU"
