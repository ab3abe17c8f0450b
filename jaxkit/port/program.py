"""What the rewrite's program shows without running it: host synchronisations, widenings, constants, memory, work."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.port.declare import Limits
from jaxkit.port.leaves import array_like
from jaxkit.port.result import LimitCheck
from jaxkit.port.sides import first_line, in_library, user_line

MEGA = 1e6
CALLBACKS = ("pure_callback", "io_callback", "debug_callback", "debug_print")
ADVICE = (
    (jax.errors.TracerBoolConversionError, "an `if` or `while` on a value: use jnp.where, jax.lax.cond or while_loop"),
    (jax.errors.TracerIntegerConversionError, "a value is a Python index or length: use jnp.take or a static size"),
    (jax.errors.NonConcreteBooleanIndexError, "a boolean mask makes a shape that depends on values: use jnp.where"),
    (jax.errors.TracerArrayConversionError, "a NumPy function reads the value: use its jax.numpy counterpart"),
    (jax.errors.ConcretizationTypeError, "float(), int(), .item() or a shape needs the value: keep it as an array"),
)


@dataclass(frozen=True)
class Program:
    """The traced rewrite: its closed jaxpr, or why it could not be traced."""

    function: Callable[..., Any]
    specs: tuple
    jaxpr: Any = None
    problem: str = ""


class Conversion(NamedTuple):
    """A float made wider, where, and the bytes of the result."""

    line: str
    kinds: str
    bytes: int


class Footprint(NamedTuple):
    """What XLA plans and counts: megabytes of scratch, arguments and results; bytes moved and operations, if known."""

    temporary_mb: float
    argument_mb: float
    output_mb: float
    bytes: float | None
    flops: float | None


def abstract(rewrite: Callable[..., Any], inputs: tuple) -> tuple[Callable[..., Any], tuple]:
    """Split inputs into array specs and the rest: `(function of the arrays alone, their specs)`."""
    flat, structure = jax.tree.flatten(inputs)
    places = [i for i, leaf in enumerate(flat) if array_like(leaf)]

    def function(*arrays: Any) -> Any:
        filled = list(flat)
        for i, array in zip(places, arrays, strict=True):
            filled[i] = array
        return rewrite(*jax.tree.unflatten(structure, filled))

    return function, tuple(_spec(flat[i]) for i in places)


def _spec(leaf: Any) -> jax.ShapeDtypeStruct:
    dtype = leaf.dtype if isinstance(leaf, jax.Array) else jax.dtypes.canonicalize_dtype(leaf.dtype)
    return jax.ShapeDtypeStruct(np.shape(leaf), dtype)


def trace(rewrite: Callable[..., Any], inputs: tuple) -> Program:
    """Trace the rewrite on the shapes of the inputs: a place that needs a value on the host cannot be traced."""
    function, specs = abstract(rewrite, inputs)
    try:
        return Program(function, specs, jaxpr=jax.make_jaxpr(function)(*specs))
    except Exception as error:
        advice = next((text for kind, text in ADVICE if isinstance(error, kind)), first_line(error))
        return Program(function, specs, problem=f"{user_line(error) or 'unknown line'}: {advice}")


def static_checks(program: Program, limits: Limits) -> tuple[LimitCheck, ...]:
    """Checks of host synchronisations, widenings and constants."""
    if program.problem:
        message = f"the rewrite waits for the host at {program.problem}"
        unknown = "not checked: the rewrite as a whole cannot be traced"
        return (
            _check("host_syncs", 1, limits.host_syncs, message),
            LimitCheck("widenings", limits.widenings is None, None, limits.widenings, unknown),
            LimitCheck("constant_mb", True, None, limits.constant_mb, unknown),
        )
    called = [equation.primitive.name for equation in equations(program.jaxpr) if equation.primitive.name in CALLBACKS]
    told = f"callbacks to the host: {', '.join(called)}" if called else "no value is needed on the host"
    wider, (largest, total) = widenings(program.jaxpr), constants(program.jaxpr)
    wide = f"; the largest makes {wider[0].bytes / MEGA:.3g} MB {wider[0].kinds} at {wider[0].line}" if wider else ""
    return (
        _check("host_syncs", len(called), limits.host_syncs, told),
        _check("widenings", len(wider), limits.widenings, f"{len(wider)} conversions to a wider float{wide}"),
        _check("constant_mb", total / MEGA, limits.constant_mb, f"{total / MEGA:.3g} MB of constants{largest}"),
    )


def _check(name: str, value: float, limit: float | None, message: str) -> LimitCheck:
    return LimitCheck(name, limit is None or value <= limit, value, limit, message)


def bodies(closed: Any) -> Iterator[Any]:
    """The closed jaxpr and all that its equations hold, outermost first."""
    yield closed
    for equation in closed.eqns:
        for parameter in equation.params.values():
            for item in parameter if isinstance(parameter, tuple | list) else (parameter,):
                if hasattr(item, "eqns"):
                    yield from bodies(item)


def equations(closed: Any) -> Iterator[Any]:
    """All equations of a jaxpr, those of inner functions, loops and branches included."""
    for body in bodies(closed):
        yield from body.eqns


def widenings(closed: Any) -> list[Conversion]:
    """Conversions of floats to wider floats, the largest result first."""
    found = []
    for equation in equations(closed):
        if equation.primitive.name != "convert_element_type":
            continue
        old, new = equation.invars[0].aval, equation.outvars[0].aval
        both_float = jnp.issubdtype(old.dtype, jnp.floating) and jnp.issubdtype(new.dtype, jnp.floating)
        if both_float and new.dtype.itemsize > old.dtype.itemsize:
            kinds, size = f"{old.dtype} to {new.dtype}", int(np.prod(new.shape)) * new.dtype.itemsize
            found.append(Conversion(_line(equation), kinds, size))
    return sorted(found, key=lambda conversion: -conversion.bytes)


def _line(equation: Any) -> str:
    """The user's line of an equation. JAX keeps it as a traceback whose frames are documented nowhere."""
    frames = getattr(getattr(equation.source_info, "traceback", None), "frames", ())
    users = [frame for frame in frames if not in_library(frame.file_name)]
    return f"{Path(users[0].file_name).name}:{users[0].line_num}" if users else "unknown line"


def constants(closed: Any) -> tuple[str, int]:
    """The largest array that a program carries, in words, and the bytes of all of them."""
    held = {id(value): value for body in bodies(closed) for value in getattr(body, "consts", ())}
    sizes = {key: int(np.prod(np.shape(value))) * value.dtype.itemsize for key, value in held.items()}
    if not sizes:
        return "", 0
    largest = held[max(sizes, key=sizes.get)]
    return f"; the largest is {largest.dtype}{list(np.shape(largest))}", sum(sizes.values())


def footprint(program: Program) -> Footprint | str:
    """Compile for the given shapes and read XLA's plan, or say why there is none.

    Peak memory is not read: on the CPU it leaves out the scratch memory.
    """
    if program.problem:
        return "the rewrite as a whole cannot be traced"
    try:
        compiled = jax.jit(program.function).lower(*program.specs).compile()
    except Exception as error:
        return f"the rewrite does not compile as one program ({first_line(error)})"
    memory, cost = compiled.memory_analysis(), compiled.cost_analysis() or {}
    if memory is None:
        return "this device tells no memory plan"
    sizes = (memory.temp_size_in_bytes, memory.argument_size_in_bytes, memory.output_size_in_bytes)
    return Footprint(*(size / MEGA for size in sizes), cost.get("bytes accessed"), cost.get("flops"))


def memory_check(found: Footprint | str, limit: float | None) -> LimitCheck:
    """Check of the scratch memory for the largest inputs."""
    if isinstance(found, str):
        return LimitCheck("temporary_mb", limit is None, None, limit, f"not known: {found}")
    total = found.temporary_mb + found.argument_mb + found.output_mb
    message = (
        f"{found.temporary_mb:.3g} MB of scratch, {found.argument_mb:.3g} MB of arguments and "
        f"{found.output_mb:.3g} MB of results, {total:.3g} MB together"
    )
    return _check("temporary_mb", found.temporary_mb, limit, message)
