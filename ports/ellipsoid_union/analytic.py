"""Clouds whose shares of volume are known: how many points must fall where."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxkit.port import Port, Request, Verdict

from . import clouds

SIGMAS = 5.0


class Known(NamedTuple):
    """A cloud, a part of its union as a test of points `[n, 3]`, and the part's share of the volume."""

    rows: clouds.Rows
    part: Callable[[np.ndarray], np.ndarray]
    share: float


def within(radius: float, x: float = 0.0) -> Callable[[np.ndarray], np.ndarray]:
    """Whether points lie in a ball around (x, 0, 0)."""
    return lambda points: np.linalg.norm(points - (x, 0, 0), axis=1) <= radius


def known() -> dict[str, Known]:
    """Parts by name."""
    first, second = within(1), within(1, 1)
    return {
        "lens of two balls": Known(clouds.lens(), lambda p: first(p) & second(p), 5 / 27),
        "crescent of two balls": Known(clouds.lens(), lambda p: first(p) & ~second(p), 11 / 27),
        "half radius of a ball": Known(clouds.balls([[0, 0, 0]], [1]), within(0.5), 1 / 8),
        "ball within a ball": Known(clouds.nested(), within(1, 0.5), 1 / 8),
        "20 equal balls and one apart": Known(clouds.crowd(), within(1), 1 / 2),
    }


@dataclass(frozen=True)
class Analytic:
    """Each part of a union holds its share of the points, within five standard errors."""

    count: int = 100_000
    name: str = "analytic cases"

    def check(self, port: Port, request: Request) -> Verdict:
        """Samples every cloud with the rewrite."""
        count = self.count // 10 if request.quick else self.count
        sigmas = {name: deviation(port.rewrite, one, count, request.seed) for name, one in known().items()}
        worst = max(sigmas, key=lambda name: abs(sigmas[name]))
        passed = abs(sigmas[worst]) <= SIGMAS
        where = f"{worst!r} is {sigmas[worst]:+.1f} standard errors off"
        message = f"{len(sigmas)} known shares of volume hold: at most, {where}" if passed else f"{where} its volume"
        return Verdict(self.name, passed, message, {"draws": count, **sigmas}, None if passed else worst)


def deviation(sample: Callable[..., Any], one: Known, count: int, seed: int) -> float:
    """How many standard errors the number of points in the part is off."""
    with jax.debug_key_reuse(False):
        points = np.asarray(sample(jax.random.key(seed), *one.rows, count), np.float64)
    hits = int(one.part(points).sum())
    return (hits - count * one.share) / math.sqrt(count * one.share * (1 - one.share))
