"""How many ellipsoids cover each place, in float64 NumPy: every body against every place."""

from typing import NamedTuple

import numpy as np

from tests.reference.union import Solids


class Counts(NamedTuple):
    """What is known about `[T]` places.

    Attributes:
      any, other, prior: covering bodies; without the source; of those, the ones that precede it.
      owner: the first covering body, -1 for none.
      close: places so near a surface that rounding may decide.
    """

    any: np.ndarray
    other: np.ndarray
    prior: np.ndarray
    owner: np.ndarray
    close: np.ndarray


def plain_level(semi_axes, step):
    """The size level of one body, by the words of the rule: its widest diameter and 1/1024, rounded up to steps 2^l."""
    width = 2 * float(np.max(semi_axes)) * (1 + 2**-10)
    level = 0
    while width > step * 2**level:
        level += 1
    return level


def counts(solids: Solids, levels, places, source, tolerance=1e-3) -> Counts:
    """Counts for places `[T, 3]` that were drawn from the bodies `source` `[T]`; `levels` `[N]` order the bodies."""
    rank = np.argsort(np.lexsort((np.arange(len(levels)), -np.asarray(levels))))
    total, other, prior = np.zeros((3, len(places)), int)
    first, close = np.full(len(places), len(levels)), np.zeros(len(places), bool)
    for body, (center, semi_axes, matrix) in enumerate(zip(*solids, strict=True)):
        if not semi_axes.all():
            continue
        squares = (((places - center) @ matrix / semi_axes) ** 2).sum(1)
        hit, foreign = squares <= 1, source != body
        total += hit
        other += hit & foreign
        prior += hit & foreign & (rank[body] < rank[source])
        first = np.where(hit, np.minimum(first, rank[body]), first)
        close |= np.abs(squares - 1) < tolerance
    by_rank = np.append(np.argsort(rank), -1)
    return Counts(total, other, prior, by_rank[first], close)
