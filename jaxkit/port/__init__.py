"""The harness that proves a rewrite equal to the slow program it replaces, and measures what it gained.

A port is declared once (`Port`), loaded from its folder (`load`) and proved (`prove`). The declaration says which
inputs are tried, how both sides must agree (`Exact`, `Levels`, `Close`, `SameDistribution`) and what the rewrite may
spend (`Limits`). No gain is reported where the sides do not agree.
"""

from jaxkit.port.agreement import Exact, Levels
from jaxkit.port.close import Close
from jaxkit.port.declare import Case, Limits, Picture, Port, Request, Table
from jaxkit.port.distribution import SameDistribution
from jaxkit.port.load import LoadError, find, load
from jaxkit.port.prove import prove
from jaxkit.port.result import Result, Verdict

__all__ = [
    "Case",
    "Close",
    "Exact",
    "Levels",
    "Limits",
    "LoadError",
    "Picture",
    "Port",
    "Request",
    "Result",
    "SameDistribution",
    "Table",
    "Verdict",
    "find",
    "load",
    "prove",
]
