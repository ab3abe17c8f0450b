"""Window functions: the weights of the samples within a frame."""

import functools
from collections.abc import Callable

import numpy as np

from jaxkit.ranges import one_of_names

Shape = Callable[[np.ndarray], np.ndarray]
# Of the phase, which runs from 0 to 2 pi over the window.
SHAPES: dict[str, Shape] = {
    "hann": lambda phase: 0.5 - 0.5 * np.cos(phase),
    "hamming": lambda phase: 0.54 - 0.46 * np.cos(phase),
    "blackman": lambda phase: 0.42 - 0.5 * np.cos(phase) + 0.08 * np.cos(2 * phase),
    "povey": lambda phase: (0.5 - 0.5 * np.cos(phase)) ** 0.85,
    "sine": lambda phase: np.sin(0.5 * phase),
    "rectangular": np.ones_like,
}


def window(name: str, width: int, *, periodic: bool = True) -> np.ndarray:
    """The weights of a window.

    Args:
      name: `hann`, `hamming`, `blackman`, `povey` (Kaldi's: a Hann window to the power of 0.85), `sine` or
        `rectangular`.
      width: how many samples.
      periodic: whether the window is one period of its formula, as spectra want it (`torch.hann_window`,
        `scipy.signal.get_window`); else it is symmetric (`numpy.hanning`, Kaldi).

    Returns:
      `[width]` float64, read-only.

    Raises:
      ValueError: if there is no such window, or the width is not a positive int.
    """
    name = one_of_names("window", name, tuple(SHAPES))
    if type(width) is not int or width < 1:
        raise ValueError(f"the width of a window is a number of samples of at least 1, got {width!r}")
    return _window(name, width, bool(periodic))


@functools.cache
def _window(name: str, width: int, periodic: bool) -> np.ndarray:
    period = width if periodic else max(width - 1, 1)
    weights = SHAPES[name](2 * np.pi * np.arange(width) / period) if width > 1 else np.ones(1)
    weights.setflags(write=False)
    return weights
