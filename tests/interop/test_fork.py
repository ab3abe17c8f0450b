"""Forked workers, in processes of their own: an error at once, never a hang, and nothing left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

SEALED = """
    import os, sys, threading, warnings
    import numpy as np
    import jax, jax.numpy as jnp
    from jaxkit import Sample
    from jaxkit.interop import jax_started, numpy_collate, require_unforked
    from jaxkit.interop.torch import borrow, to_jax, to_torch, torch_compatible
    import torch

    warnings.simplefilter("ignore")

    def run_forked(job):
        '''What `job` raised in a forked child: "" for nothing, None for a hang.'''
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                job()
                text = ""
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
            os.write(write, text.encode())
            os._exit(0)
        os.close(write)
        timer = threading.Timer(10, os.kill, (child, 9))
        timer.start()
        text = os.read(read, 10_000).decode()
        _, status = os.waitpid(child, 0)
        timer.cancel()
        return None if status else text

    x = np.ones((3,), np.float32)
    assert not jax_started()
    assert run_forked(lambda: jnp.sin(x).block_until_ready()) == "", "not started: JAX works in a forked child"

    double = jax.jit(lambda x: x * 2)
    array, key, tensor = jnp.asarray(x), jax.random.key(0), torch.ones(3)
    double(array).block_until_ready()
    assert jax_started()
    bridge = torch_compatible(double)

    told = [
        require_unforked, lambda: to_jax(tensor), lambda: to_torch(array), lambda: bridge(tensor),
        lambda: borrow(tensor).__enter__(), lambda: double(array), lambda: double(x), lambda: jnp.sin(array),
        lambda: array + 1, lambda: array[0], lambda: jnp.asarray(x), lambda: jnp.zeros(7), lambda: jax.random.key(1),
        lambda: jax.random.split(key), lambda: jax.vmap(double)(array), lambda: jax.grad(jnp.sum)(array),
    ]
    for index, job in enumerate(told):
        text = run_forked(job)
        assert text and text.startswith("RuntimeError") and 'multiprocessing_context="spawn"' in text, (index, text)
    assert "Disallowed" in run_forked(lambda: jax.device_put(x)), "copies are refused by the transfer guard"
    for job in (lambda: np.asarray(array), lambda: numpy_collate([Sample(x), Sample(x)]), lambda: x + 1):
        assert run_forked(job) == "", "NumPy work goes on"
    require_unforked()
    assert double(array).tolist() == [2, 2, 2], "the parent is as it was"
"""

LOADER = """
    import sys, time, warnings
    import jax, jax.numpy as jnp
    import numpy as np
    from torch.utils.data import DataLoader
    from jaxkit.interop import numpy_collate

    class Numbers:
        def __init__(self, with_jax):
            self.with_jax = with_jax

        def __len__(self):
            return 8

        def __getitem__(self, index):
            value = np.full(3, index, np.float32)
            return {"x": np.asarray(jnp.sin(value)) if self.with_jax else value, "label": index}

    def load(context, with_jax):
        workers = {"num_workers": 2, "multiprocessing_context": context}
        return list(DataLoader(Numbers(with_jax), 4, collate_fn=numpy_collate, **workers))

    def main(context, with_jax):
        warnings.simplefilter("ignore")
        jnp.ones(3).block_until_ready()
        start = time.monotonic()
        if context == "fork" and with_jax:
            try:
                load(context, with_jax)
            except RuntimeError as error:
                assert 'multiprocessing_context="spawn"' in str(error), error
            else:
                raise SystemExit("no error")
            assert time.monotonic() - start < 20
        else:
            batches = load(context, with_jax)
            first = np.arange(4, dtype=np.float32)[:, None].repeat(3, 1)
            np.testing.assert_allclose(batches[0]["x"], np.sin(first) if with_jax else first, rtol=1e-6)
            assert [type(batch["x"]) for batch in batches] == [np.ndarray] * 2
            assert batches[1]["label"].tolist() == [4, 5, 6, 7]

    if __name__ == "__main__":
        main(sys.argv[1], sys.argv[2] == "jax")
"""


def run_alone(folder, script, *arguments):
    """Runs a script in a session of its own; whatever it left running is ended and counts as a failure."""
    path = folder / "script.py"
    path.write_text(textwrap.dedent(script))
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, str(path), *arguments], stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = process.wait(timeout=90)
        except subprocess.TimeoutExpired:
            code = "it hung"
    orphans = is_alive_after(process.pid, 5 if code == 0 else 0)
    if orphans:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert code == 0, f"{code}\n{log.read_text()[-3000:]}"
    assert not orphans, "workers were left behind"


def is_alive_after(group, seconds):
    """Whether a process group has members after a time of grace: multiprocessing's own tracker ends a little late."""
    end = time.monotonic() + seconds
    while True:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        if time.monotonic() >= end:
            return True
        time.sleep(0.05)


@pytest.mark.slow
def test_jax_in_a_forked_child_raises(tmp_path):
    run_alone(tmp_path, SEALED)


@pytest.mark.slow
@pytest.mark.parametrize(("context", "work"), [("fork", "jax"), ("fork", "numpy"), ("spawn", "jax")])
def test_data_loader_workers(tmp_path, context, work):
    run_alone(tmp_path, LOADER, context, work)
