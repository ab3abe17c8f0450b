"""How a network in integers must agree: with its simulator in every value, with the one in float in what it sees."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jaxkit.export import Artifact
from jaxkit.port import Port, Request, Verdict

Side = Callable[[np.ndarray], np.ndarray]
Pictures = Callable[[Request], np.ndarray]


@dataclass(frozen=True)
class Simulated:
    """The runtime gives the values that the simulator gives in JAX: what was measured in training is what is served.

    Args:
      file: the file with integers, when called.
      pictures: `[N, 224, 224, 3]` float32.
    """

    file: Callable[[], Artifact]
    pictures: Pictures
    name: str = "int8 is its simulator"

    def check(self, port: Port, request: Request) -> Verdict:
        """Compare every logit."""
        told = self.file().verify(self.pictures(request), threads=1)
        message = f"{told.exact:.3%} of the logits of {told.count} pictures are the simulator's"
        message += "" if told.exact == 1 else f", the largest difference is {told.largest:.3g} steps"
        figures = {"pictures": told.count, "share that is exact": told.exact, "largest difference": told.largest}
        return Verdict(self.name, told.exact == 1, message, figures)


@dataclass(frozen=True)
class SameClass:
    """Two networks see the same class in most pictures.

    Few pictures say little: for a share of n pictures that is to be `least`, two standard errors are allowed where n
    is below `count`.

    Args:
      reference, rewrite: pictures to logits.
      pictures: `[N, 224, 224, 3]` float32.
      least: share of equal classes.
      count: of pictures that are enough to tell.
    """

    reference: Side
    rewrite: Side
    pictures: Pictures
    least: float = 0.88
    count: int = 160
    name: str = "int8 sees the same"

    def check(self, port: Port, request: Request) -> Verdict:
        """Compare the largest logits."""
        pictures = self.pictures(request)
        wanted, found = by_parts(self.reference, pictures), by_parts(self.rewrite, pictures)
        same, ratio = agreement(found, wanted)
        allowed = self.allowed(len(pictures))
        message = f"the same class in {same:.1%} of {len(pictures)} pictures (at least {allowed:.1%}), {ratio:.1f} dB"
        figures = {"pictures": len(pictures), "same class": same, "least": allowed, "signal to noise in dB": ratio}
        return Verdict(self.name, same >= allowed, message, figures)

    def allowed(self, count: int) -> float:
        """The least share among so many pictures."""
        error = math.sqrt(self.least * (1 - self.least) / count)
        return self.least if count >= self.count else max(self.least - 2 * error, 0.0)


def agreement(found: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    """Of logits `[N, 1000]`: the share of equal classes, and the ratio of signal to noise in dB."""
    noise = np.square(found - wanted, dtype=np.float64).sum()
    ratio = 10 * math.log10(np.square(wanted, dtype=np.float64).sum() / noise) if noise else math.inf
    return float((found.argmax(1) == wanted.argmax(1)).mean()), ratio


def by_parts(side: Side, pictures: np.ndarray, rows: int = 16) -> np.ndarray:
    """Logits of many pictures, so many at once, always in the same shape."""
    filled = np.concatenate([pictures, np.repeat(pictures[-1:], -len(pictures) % rows, axis=0)])
    parts = [np.asarray(side(filled[start : start + rows])) for start in range(0, len(filled), rows)]
    return np.concatenate(parts)[: len(pictures)]
