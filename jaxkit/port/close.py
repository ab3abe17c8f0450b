"""Agreement of floating results: as close to a float64 truth as the reference is, by a stated factor.

A fixed tolerance has no answer to "according to what?". Here the reference's own rounding error is the yardstick. The
error of an array is norm-wise, |x - t| / |t| in the 2-norm (Higham, Accuracy and Stability of Numerical Algorithms,
section 1.2): element-wise relative errors blame a rewrite for small values that any float32 program gets wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxkit.port.agreement import pairs
from jaxkit.port.declare import Case, Port, Request
from jaxkit.port.leaves import Leaf, describe, leaves, mismatch, place
from jaxkit.port.result import Verdict
from jaxkit.port.sides import call

ULPS = 4
WIDE = {"float64": "float32", "complex128": "complex64", "int64": "int32", "uint64": "uint32"}


class Error(NamedTuple):
    """Distance of one array from the truth: relative 2-norm, largest, 99th percentile, and where the largest is."""

    norm: float
    most: float
    p99: float
    where: str


class Comparison(NamedTuple):
    """Both sides of one array against the truth. `excess` is the rewrite's error over what was allowed."""

    excess: float
    case: str
    reference: Error
    rewrite: Error
    allowed: float


@dataclass(frozen=True)
class Close:
    """The rewrite is no further from the truth than `factor` times the reference, in the relative 2-norm of each array.

    A reference that is exact (float64, say) is not the yardstick below 4 ulp of the rewrite's dtype; for integers below
    half a level. 64-bit results of the reference may be 32-bit in the rewrite. Values that are not finite must be the
    same in the rewrite and in the truth.

    Args:
      truth: program in float64 that takes the same inputs and returns the same structure and shapes.
      factor: how many times the reference's error is accepted.
      reference, rewrite, cases: programs and inputs to compare in place of the port's own.

    Raises:
      ValueError: if `truth` is not callable or `factor` is below 1.
    """

    truth: Callable[..., Any]
    factor: float = 2.0
    reference: Callable[..., Any] | None = None
    rewrite: Callable[..., Any] | None = None
    cases: Callable[[Request], Sequence[Case]] | None = None
    name: str = "close"

    def __post_init__(self) -> None:
        if not callable(self.truth):
            raise ValueError(f"Close(truth={self.truth!r}): give a float64 program that takes the inputs of a case")
        if not self.factor >= 1:
            raise ValueError(f"Close(factor={self.factor}): a factor of 1 or more is needed")

    def check(self, port: Port, request: Request) -> Verdict:
        """Compare all cases; the figures are those of the array that used most of what was allowed."""
        found: list[Comparison] = []
        for case, reference, rewrite in pairs(self, port, request):
            truth = call("truth", self.truth, case.inputs, f"case {case.name!r}")
            message = _mismatch(truth, reference, rewrite) or _not_finite(truth, rewrite)
            if message:
                return Verdict(self.name, False, message, {}, case.name)
            triples = zip(leaves(truth), leaves(reference), leaves(rewrite), strict=True)
            found += [self._compare(case.name, *triple) for triple in triples]
        return self._verdict(found)

    def _compare(self, case: str, truth: Leaf, reference: Leaf, rewrite: Leaf) -> Comparison:
        old, new = _error(truth, reference), _error(truth, rewrite)
        allowed = self.factor * max(old.norm, _floor(truth.value, rewrite.value))
        excess = new.norm / allowed if allowed else (0.0 if new.norm == 0 else np.inf)
        return Comparison(excess, case, old, new, allowed)

    def _verdict(self, found: list[Comparison]) -> Verdict:
        if not found:
            return Verdict(self.name, False, "the results hold no arrays: nothing was compared")
        worst = max(found, key=lambda comparison: comparison.excess)
        old, new = worst.reference, worst.rewrite
        message = (
            f"relative error {new.norm:.2g} against the float64 truth, the reference has {old.norm:.2g} "
            f"(allowed {worst.allowed:.2g}); largest difference {new.most:.2g} at {new.where}"
        )
        figures = {
            "error of the rewrite": new.norm,
            "error of the reference": old.norm,
            "allowed error": worst.allowed,
            "factor": self.factor,
            "largest difference": new.most,
            "99th percentile of differences": new.p99,
            "largest difference of the reference": old.most,
            "worst place": new.where,
        }
        return Verdict(self.name, worst.excess <= 1, message, figures, worst.case)


def _mismatch(truth: Any, reference: Any, rewrite: Any) -> str | None:
    message = mismatch(reference, rewrite, dtypes=False)
    if message:
        return message
    for a, b in zip(leaves(reference), leaves(rewrite), strict=True):
        if b.value.dtype.name not in (a.value.dtype.name, WIDE.get(a.value.dtype.name)):
            both = f"the reference gives {describe(a.value)}, the rewrite gives {describe(b.value)}"
            return f"the dtype of {a.path} differs: {both}"
    message = mismatch(truth, rewrite, dtypes=False)
    return message.replace("the reference", "the truth") if message else None


def _not_finite(truth: Any, rewrite: Any) -> str | None:
    for t, leaf in zip(leaves(truth), leaves(rewrite), strict=True):
        wanted, found = _wide(t.value), _wide(leaf.value)
        same = np.isfinite(wanted) & np.isfinite(found) | np.isnan(wanted) & np.isnan(found) | (wanted == found)
        if not same.all():
            first = int(np.argmin(same))
            return (
                f"{int((~same).sum())} values of {leaf.path} are not finite on one side only, the first at "
                f"{place(leaf, first)}: the truth is {wanted.flat[first]}, the rewrite gives {found.flat[first]}"
            )
    return None


def _wide(value: np.ndarray) -> np.ndarray:
    return value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)


def _error(truth: Leaf, leaf: Leaf) -> Error:
    wanted, found = _wide(truth.value), _wide(leaf.value)
    finite = np.isfinite(wanted) & np.isfinite(found)
    gap = np.abs(np.where(finite, found, 0) - np.where(finite, wanted, 0))
    if not gap.size:
        return Error(0.0, 0.0, 0.0, leaf.path)
    size = np.linalg.norm(wanted[finite])
    norm = float(np.linalg.norm(gap) / (size or 1.0))
    return Error(norm, float(gap.max()), float(np.quantile(gap, 0.99)), place(leaf, int(gap.argmax())))


def _floor(truth: np.ndarray, rewrite: np.ndarray) -> float:
    """Relative error below which nothing can be blamed: a few ulp, or half a level of an integer."""
    if rewrite.dtype.kind in "biu":
        wanted = _wide(truth)
        return 0.5 * np.sqrt(wanted.size) / (np.linalg.norm(wanted) or 1.0) if wanted.size else 0.0
    return ULPS * float(jnp.finfo(rewrite.dtype).eps)
