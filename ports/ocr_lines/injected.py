"""jaxkit's draws, handed to the slow program: both sides then have to make the same pictures."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxkit import Sample, noise
from jaxkit.interop import unstack

from . import slow
from .fast import AUGMENT


def by_line(*, exact: bool) -> Callable[[jax.Array, np.ndarray, Sample], list[np.ndarray]]:
    """The slow program with the draws and the noise of `AUGMENT`: `(key, ids, lines) -> pictures [h, w, 3]`."""

    def run(key: jax.Array, ids: np.ndarray, lines: Sample) -> list[np.ndarray]:
        draws = translate(AUGMENT.draw(key, ids, lines))
        pairs = zip(draws, unstack(lines), strict=True)
        return [slow.apply(draw, image, field=field(draw, image.shape), exact=exact) for draw, image in pairs]

    return run


def by_batch(key: jax.Array, ids: np.ndarray, lines: Sample) -> list[np.ndarray]:
    """`AUGMENT`, with the padding cut off, which it leaves in any state."""
    return unstack(Sample(AUGMENT(key, ids, lines).image, valid=lines.valid))


def translate(params: Any) -> list[slow.Draw]:
    """Params of `AUGMENT` in the slow program's words, one `Draw` for each line, in float64."""
    (degrees, corners, grid), stroke, sigma, ((brightness, contrast),), (std, seed) = jax.tree.map(np.asarray, params)
    columns = (degrees, corners, grid, stroke, sigma, brightness, contrast + 1, std)
    rows = zip(*(column.astype(np.float64) for column in columns), seed, strict=True)
    return [slow.Draw(*row) for row in rows]


def field(draw: slow.Draw, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(noise.normal(draw.seed, shape), np.float64)
