"""Counting compilations, with the reason of each: also those that happen without a new trace.

A retrace counter misses them: an array that came through DLPack, or with another layout or placement, makes XLA compile
again from the same trace. So JAX's own monitoring events are counted, traces and compilations apart.
"""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from jaxkit.port.declare import Case
from jaxkit.port.leaves import array_like
from jaxkit.port.result import LimitCheck
from jaxkit.port.sides import call

TRACE_EVENT = "jaxpr_trace_duration"
COMPILE_EVENT = "backend_compile_duration"
WITHOUT_TRACE = (
    "compiled again from the same trace: the inputs differ in placement, layout or sharding, as arrays from DLPack or "
    "device_put do"
)
STATIC = "no array changed, a static value did"


@dataclass
class CompileLog:
    """Names of what was traced and what was compiled, in order, and the reasons JAX gave for tracing."""

    traces: list[str] = field(default_factory=list)
    compiles: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def extend(self, other: "CompileLog") -> None:
        """Append what another log holds."""
        self.traces += other.traces
        self.compiles += other.compiles
        self.reasons += other.reasons


@contextmanager
def compilations() -> Iterator[CompileLog]:
    """Record what JAX traces and compiles in this process while the block runs, in all threads."""
    log = CompileLog()

    def listen(event: str, seconds: float, **about: Any) -> None:
        if event.endswith(TRACE_EVENT):
            log.traces.append(str(about.get("fun_name", "?")))
        if event.endswith(COMPILE_EVENT):
            log.compiles.append(str(about.get("fun_name", "?")))

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        with _explained(log.reasons):
            yield log
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


@contextmanager
def _explained(reasons: list[str]) -> Iterator[None]:
    """Collect JAX's explanations of cache misses as sentences, and keep them from the log of the user."""
    logger, before = logging.getLogger("jax"), jax.config.jax_explain_cache_misses
    propagate, handler = logger.propagate, logging.Handler()

    def take(record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "CACHE MISS" in text:
            reasons.append(reason(text))
        elif propagate:
            logging.getLogger().handle(record)

    handler.emit = take
    logger.addHandler(handler)
    logger.propagate = False
    jax.config.update("jax_explain_cache_misses", True)
    try:
        yield
    finally:
        jax.config.update("jax_explain_cache_misses", before)
        logger.propagate = propagate
        logger.removeHandler(handler)


def reason(text: str) -> str:
    """Turn one explanation of a tracing cache miss into a sentence."""
    defined = re.search(r"(\S+)(?: id=\d+)? defined at (\S+)", text)
    name = f"{defined[1]} ({_short(defined[2])})" if defined else "a function"
    if "defined on the same line" in text:
        return f"{name} is made and jitted anew at every call: build the jitted function once, outside"
    if "never seen function" in text:
        return f"{name} had not been called before"
    static = re.findall(r"Static\(val=(.*?)\)", text)
    if len(static) >= 2 or "explanation unavailable" in text:
        told = f"a static value changed from {static[1]} to {static[0]}" if static else STATIC
        return f"{name}: {told}; each value compiles again, so pass an array"
    changed = re.search(r"\* at ([^\n]*?), now (.*?) and before ([^\n]*)", text)
    if not changed:
        return f"{name}: {' '.join(text.split('key:')[-1].split())[:200]}"
    where, now, before = changed[1], changed[2], re.sub(r"https?://\S+", "", changed[3])
    if "weak_type" in now + before:
        return f"{name}: {where} is now {now}, before {before}: pass numbers always as the same kind"
    return f"{name}: {where} is now {now}, before {before}"


def _short(place: str) -> str:
    return place.rsplit("/", 1)[-1]


def check_compilations(
    rewrite: Callable[..., Any], cases: Sequence[Case], reseeded: Sequence[Case], limit: int | None
) -> tuple[LimitCheck, LimitCheck]:
    """Call the rewrite on all cases, again on all, and on the reseeded cases that have the same shapes.

    All of JAX's caches are cleared first. Returns the checks `compilations` (the most that one first call made) and
    `recompilations` (made by later calls with the same shapes and Python values; none are allowed). Reseeded cases may
    differ in numbers as well as in arrays: a number that is compiled in is found there.
    """
    jax.clear_caches()
    first: dict[Any, CompileLog] = {}
    later, calls = CompileLog(), 0
    for case in cases:
        log, key = _watched(rewrite, case), signature(case.inputs, values=True)
        if key in first:
            later.extend(log)
            calls += 1
        first.setdefault(key, log)
    seen = {signature(case.inputs, values=False) for case in cases}
    for case in [*cases, *(case for case in reseeded if signature(case.inputs, values=False) in seen)]:
        later.extend(_watched(rewrite, case))
        calls += 1
    return _first_check(first, limit), _later_check(later, calls, limit)


def _watched(rewrite: Callable[..., Any], case: Case) -> CompileLog:
    with compilations() as log:
        call("rewrite", rewrite, case.inputs, f"case {case.name!r}")
    return log


def _first_check(first: dict[Any, CompileLog], limit: int | None) -> LimitCheck:
    most = max(first.values(), key=lambda log: len(log.compiles))
    value, names = len(most.compiles), ", ".join(dict.fromkeys(most.compiles)) or "none"
    passed = limit is None or value <= limit
    message = f"the first call with a shape makes {_count(value, 'executable')} ({names})"
    if not passed:
        message += f"; jit it as one function, or allow Limits(compilations={value}) if it is meant to be several"
    return LimitCheck("compilations", passed, value, limit, message)


def _later_check(later: CompileLog, calls: int, limit: int | None) -> LimitCheck:
    value, traces = len(later.compiles), len(later.traces)
    message = f"{_count(calls, 'later call')} with the same shapes: {_count(value, 'compilation')}, "
    message += _count(traces, "trace")
    if value:
        message += f"; {later.compiles[0]}: {later.reasons[0] if later.reasons else WITHOUT_TRACE}"
    return LimitCheck("recompilations", limit is None or not value, value, None if limit is None else 0, message)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def signature(inputs: Any, *, values: bool) -> tuple:
    """Structure, shapes and dtypes of inputs; of leaves that are no arrays the type, and with `values` the value."""
    flat, structure = jax.tree.flatten(inputs)
    return (structure, *(_leaf_signature(leaf, values) for leaf in flat))


def _leaf_signature(leaf: Any, values: bool) -> tuple:
    if array_like(leaf) or hasattr(leaf, "detach"):
        return tuple(np.shape(leaf)), str(leaf.dtype)
    if isinstance(leaf, float) or (isinstance(leaf, int) and not values):
        return (type(leaf),)
    return type(leaf), repr(leaf)
