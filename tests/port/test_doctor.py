"""What the doctor sees in this process, and what it says about made-up setups."""

import importlib.metadata
import subprocess
import sys

import jax
import pytest

from jaxkit.port import doctor

HEALTHY = doctor.Setup(
    versions={"jaxkit": "0.1.0", "jax": "0.10.2", "jaxlib": "0.10.2", "numpy": "2.4.6"},
    system="Linux, Python 3.14.0",
    processor="Zen 3",
    cores=2,
    usable_cores=2.0,
    vectors=("avx2", "fma"),
    memory_gb=16.0,
    accelerators=(),
    backend="cpu",
    devices=("cpu",),
    x64=False,
    matmul_precision=None,
    cache="/tmp/cache",
    switches=(),
    start_method="forkserver",
    is_forked=False,
    variables={},
)


def told(**changes):
    return doctor.cautions(HEALTHY._replace(**changes))


def test_a_healthy_setup_is_left_alone():
    assert told() == []


@pytest.mark.parametrize(
    ("changes", "problem", "remedy"),
    [
        ({"versions": {"jax": "0.9.1", "jaxlib": "0.9.1"}}, "0.9.1", "pip install"),
        ({"versions": {"jax": "0.13.0", "jaxlib": "0.13.0"}}, "0.13.0", "pip install"),
        ({"versions": {"jax": "0.12.0", "jaxlib": "0.10.2"}}, "different releases", "jaxlib"),
        ({"accelerators": ("an NVIDIA GPU",)}, "an NVIDIA GPU", "jax[cuda"),
        ({"accelerators": ("a TPU",), "variables": {"JAX_PLATFORMS": "cpu"}}, "a TPU", "unset JAX_PLATFORMS"),
        ({"usable_cores": 2.0, "cores": 64}, "2 of 64", "taskset -c 0-1"),
        ({"vectors": ("fma",)}, "AVX2", "machine"),
        ({"x64": True}, "64-bit is on", "JAX_ENABLE_X64"),
        ({"backend": "tpu", "devices": ("TPU v5e",)}, "bfloat16", "precision"),
        ({"backend": "gpu"}, "TF32", "precision"),
        ({"cache": None}, "no compilation cache", "jax_compilation_cache_dir"),
        ({"switches": ("jax_disable_jit",)}, "jax_disable_jit", "False"),
        ({"start_method": "fork"}, "forked by default", "forkserver"),
        ({"start_method": "fork", "is_forked": True}, "this process was forked", "spawn"),
        ({"variables": {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}}, "allocator", "unset"),
        ({"variables": {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}}, "several devices", "XLA_FLAGS"),
    ],
)
def test_each_trouble_is_named_with_its_remedy(changes, problem, remedy):
    (caution,) = told(**changes)
    assert problem in caution.problem and remedy in caution.remedy


def test_preallocation_matters_beside_torch_only():
    gpu = {"backend": "gpu", "matmul_precision": "float32"}
    with_torch = {**HEALTHY.versions, "torch": "2.13.0"}
    assert told(**gpu) == []
    (caution,) = told(**gpu, versions=with_torch)
    assert "PREALLOCATE" in caution.remedy
    assert told(**gpu, versions=with_torch, variables={"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}) == []


def test_what_is_observed_is_true(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    setup = doctor.observe()
    assert setup.versions["jax"] == importlib.metadata.version("jax")
    assert setup.backend == jax.default_backend() and len(setup.devices) == jax.local_device_count()
    assert 0 < setup.usable_cores <= setup.cores
    assert setup.variables["OMP_NUM_THREADS"] == "3"
    assert setup.x64 == jax.config.jax_enable_x64
    assert ("jax_debug_key_reuse" in setup.switches) == bool(jax.config.jax_debug_key_reuse)


def test_facts_are_text_under_headings():
    facts = doctor.facts(HEALTHY._replace(usable_cores=1.5, variables={"XLA_FLAGS": "--x"}))
    assert facts["Machine"]["cores"] == "2, usable 1.5"
    assert facts["Environment"]["XLA_FLAGS"] == "--x" and facts["Environment"]["JAX_PLATFORMS"] == "not set"
    assert all(isinstance(value, str) for values in facts.values() for value in values.values())


def test_observing_neither_imports_torch_nor_fixes_the_start_method():
    code = (
        "import sys, multiprocessing; from jaxkit.port.doctor import observe; observe();"
        "assert 'torch' not in sys.modules; assert multiprocessing.get_start_method(allow_none=True) is None"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
