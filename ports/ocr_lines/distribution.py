"""The random choices of both sides as columns of numbers, to be compared as distributions."""

import jax
import numpy as np

from jaxkit import Sample, noise

from . import slow
from .fast import AUGMENT
from .injected import translate
from .lines import HEIGHT, WIDTH

LABELS = ("degrees", "corner 1 x", "corner 1 y", "corner 3 x", "node 1 x", "node 1 y", "node 40 x", "stroke", "sigma",
          "brightness", "contrast", "std")  # fmt: skip
PIXELS = ("noise at 0, 0", "noise at 0, 1", "noise at 1, 0")


def columns(draw: slow.Draw) -> list[float]:
    corners, nodes = draw.corners, draw.grid.reshape(-1, 2)
    places = (corners[0, 0], corners[0, 1], corners[2, 0], nodes[0, 0], nodes[0, 1], nodes[39, 0])
    return [draw.degrees, *places, draw.stroke, draw.sigma, draw.brightness, draw.contrast, draw.std]


def slow_choices(seed: int, count: int) -> np.ndarray:
    """`[count, 12]` from the slow program."""
    rng = np.random.default_rng(seed)
    return np.array([columns(slow.draw(rng)) for _ in range(count)])


def fast_choices(seed: int, count: int) -> np.ndarray:
    """`[count, 12]` from jaxkit, one batch of `count` lines."""
    return np.array([columns(draw) for draw in translate(params(seed, count))])


def params(seed: int, count: int):
    """What `AUGMENT` draws for a batch: it never sees the pixels."""
    image = jax.ShapeDtypeStruct((count, HEIGHT, WIDTH, 3), np.uint8)
    lines = Sample(image, valid=jax.ShapeDtypeStruct((count, 2), np.int32))
    return AUGMENT.draw(jax.random.key(seed), np.arange(count), lines)


def four_bytes(seed: int, count: int) -> np.ndarray:
    """`[count, 3]`, the law that jaxkit states for its fast noise: the standardised sum of four uniform bytes."""
    total = np.random.default_rng(seed).integers(0, 256, (count, 3, 4)).sum(-1)
    return (total - 510) / np.sqrt(4 * (256**2 - 1) / 12)


def fast_noise(seed: int, count: int) -> np.ndarray:
    """`[count, 3]`: three neighbouring pixels of the noise on each of `count` lines."""
    seeds = np.array([draw.seed for draw in translate(params(seed, count))])
    fields = np.asarray(jax.vmap(lambda own: noise.normal(own, (2, 2, 1)))(seeds))
    return fields.reshape(count, 4)[:, :3]
