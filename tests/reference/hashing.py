"""The counter-based hash in Python integers."""

import numpy as np

MASK = 2**32 - 1


def finalise(value: int) -> int:
    """The 32-bit finaliser `lowbias32`: shifts of 16, 15, 16 and two odd constants."""
    value = ((value ^ value >> 16) * 0x7FEB352D) & MASK
    value = ((value ^ value >> 15) * 0x846CA68B) & MASK
    return value ^ value >> 16


def bits(seed: tuple, shape: tuple) -> np.ndarray:
    """What `noise.bits` promises: a value per row and column, columns along all axes but the first."""
    rows, columns = (shape[0], int(np.prod(shape[1:]))) if len(shape) > 1 else (1, int(np.prod(shape)))
    out = np.zeros((rows, columns), np.uint32)
    for row in range(rows):
        first = finalise(row ^ seed[0])
        second = finalise(((row + 0x9E3779B9) & MASK) ^ seed[1])
        for column in range(columns):
            out[row, column] = finalise((finalise(column ^ first) + second) & MASK)
    return out.reshape(shape)
