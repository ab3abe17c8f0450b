"""What the harness cannot see through host code: the part between decoding and collecting is compiled, all of it."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxkit import Clip
from jaxkit.port import Port, Request, Verdict

from . import fast
from .loading import Loaded, planned, threads
from .plan import Group


@dataclass(frozen=True)
class Compiled:
    """Every batch is traced from decoded waves to features: no value is waited for, none is called back to the host."""

    name: str = "compiled part"

    def check(self, port: Port, request: Request) -> Verdict:
        """Trace one batch for each rate and length of all cases."""
        shapes: set[tuple[int, int]] = set()
        for case in port.cases(request):
            key, files, noises = case.inputs
            with threads() as pool:
                groups, _ = planned(files, pool)
            for group in {(group.rate, group.samples): group for group in groups}.values():
                called = callbacks(traced(key, group, noises).jaxpr)
                shapes.add((group.rate, group.samples))
                if called:
                    told = f"{group.rate} Hz, {group.samples} samples: {called[0]} calls back to the host"
                    return Verdict(self.name, False, told, {}, case.name)
        message = f"{len(shapes)} pairs of rate and length are traced from waves to features, no value is waited for"
        return Verdict(self.name, True, message, {"pairs": len(shapes)})


def traced(key: jax.Array, group: Group, noises: tuple[str, ...]) -> Any:
    """The program of a batch as a closed jaxpr; raises where a value is needed while it is being traced."""
    make = fast.recipe(tuple(noises))
    wave = jax.ShapeDtypeStruct((group.rows, group.samples), np.float32)
    length = jax.ShapeDtypeStruct((group.rows,), np.int32)
    clips = Clip(wave, length, group.rate)
    params = fast.drawn(make, key, group.rows)
    return jax.make_jaxpr(lambda clips: fast.start(make, params, Loaded(np.arange(group.rows), clips, {})))(clips)


def callbacks(jaxpr: Any) -> list[str]:
    """Primitives that call back to the host, those within loops and branches included."""
    found = []
    for equation in jaxpr.eqns:
        found += [equation.primitive.name] if "callback" in equation.primitive.name else []
        for value in equation.params.values():
            for part in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(part, "jaxpr", part)
                found += callbacks(inner) if hasattr(inner, "eqns") else []
    return found
