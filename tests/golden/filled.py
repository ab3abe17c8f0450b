"""Weights that follow from their names alone, so that a golden file need not hold them."""

import zlib

import numpy as np


def filled(shapes):
    """A state dict of names and shapes; batch normalisation's statistics follow from its weight's name."""
    state = {name: _draw(name, shape) for name, shape in shapes.items()}
    for name, shape in shapes.items():
        if name.endswith(".weight") and len(shape) == 1:
            root = name.removesuffix("weight")
            state[f"{root}running_mean"] = _draw(f"{root}running_mean", shape)
            state[f"{root}running_var"] = 1 + np.abs(_draw(f"{root}running_var", shape))
    return state


def picture():
    """Two small pictures `[2, 64, 64, 3]`, of a size that both paddings treat differently."""
    return np.random.default_rng(0).normal(size=(2, 64, 64, 3)).astype(np.float32)


def _draw(name, shape):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if len(shape) == 1:
        # Near one for factors of channels, near zero for offsets.
        return (float(name.endswith(".weight")) + 0.2 * rng.normal(size=shape)).astype(np.float32)
    return (rng.normal(size=shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)
