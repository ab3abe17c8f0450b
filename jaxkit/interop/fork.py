"""Forked workers: an error at once where JAX would hang for ever.

JAX runs on threads. A process forked after JAX has started inherits JAX's locks and queues but not the threads that
serve them, so most JAX calls in it never return. Importing this module registers two fork hooks: one notes whether
JAX has started, the other seals JAX in the child when it has. Workers that use NumPy only are left alone.
"""

import os
from typing import Any

import jax

ADVICE = (
    "JAX had started in the parent before this process was forked, so JAX work here would hang. Start workers afresh: "
    'DataLoader(..., multiprocessing_context="spawn") (or "forkserver"). Or keep JAX out of the workers: return NumPy '
    "there (collate_fn=jaxkit.interop.numpy_collate) and call JAX in the parent."
)

_state = {"started": False, "sealed": False}


def jax_started() -> bool:
    """Whether JAX has opened its devices in this process. Does not open them."""
    # The number of CPU devices may only be set before JAX starts: the refusal is the one public sign that it has.
    before = jax.config.jax_num_cpu_devices
    try:
        jax.config.update("jax_num_cpu_devices", max(before, 0) + 2)
    except RuntimeError:
        return True
    jax.config.update("jax_num_cpu_devices", before)
    return False


def require_unforked() -> None:
    """Returns where JAX can work.

    Raises:
      RuntimeError: in a process that was forked after JAX had started, with what to do instead.
    """
    if _state["sealed"]:
        raise RuntimeError(ADVICE)


def _note_start() -> None:
    _state["started"] = jax_started()


def _seal_child() -> None:
    """Makes plain JAX calls in the child raise too.

    JAX tells its listeners about every trace, and an error in a listener ends the call. Changing the default matmul
    precision, which every compiled program depends on, sends calls that were compiled before the fork through a new
    trace as well. Copies to the device (`jax.device_put`) report nothing: the transfer guard refuses those. Only a bare
    `jax.dlpack.from_dlpack` of somebody else's memory still gets through.
    """
    if not _state["started"]:
        return
    _state["sealed"] = True
    jax.monitoring.register_event_listener(_refuse)
    jax.monitoring.register_event_duration_secs_listener(_refuse)
    known = jax.config.jax_default_matmul_precision
    jax.config.update("jax_default_matmul_precision", "high" if known == "highest" else "highest")
    jax.config.update("jax_transfer_guard_host_to_device", "disallow_explicit")


def _refuse(*_: Any, **__: Any) -> None:
    raise RuntimeError(ADVICE)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_note_start, after_in_child=_seal_child)
