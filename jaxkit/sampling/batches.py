"""Compiled programs of few fixed shapes over arrays of any length."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

LARGE, SMALL = 2**16, 2**13


def by_batches(program: Callable[..., Any], *rows: np.ndarray) -> Any:
    """`program(*rows)` in batches of `LARGE` rows, the rest in batches of `SMALL` rows, filled up with zeros.

    For programs that treat every row alike and alone: they are compiled for two shapes only, and a row's bits do not
    depend on how many rows there are. Returns NumPy arrays of all rows.
    """
    count = len(rows[0])
    large = count // LARGE * LARGE
    cuts = [*range(0, large, LARGE), *range(large, max(count, 1), SMALL), count]
    parts = [program(*(_filled(row[a:b]) for row in rows)) for a, b in zip(cuts[:-1], cuts[1:], strict=True)]
    return jax.tree.map(lambda *leaves: _joined(leaves, count), *parts)


def _joined(leaves: tuple, count: int) -> np.ndarray:
    whole = np.asarray(leaves[0]) if len(leaves) == 1 else np.concatenate([np.asarray(leaf) for leaf in leaves])
    return whole[:count]


def _filled(row: np.ndarray) -> np.ndarray:
    missing = 0 if len(row) == LARGE else SMALL - len(row)
    return np.concatenate([row, np.zeros((missing, *row.shape[1:]), row.dtype)]) if missing else row
