"""Features as pictures: time to the right, mels upwards, the floor dark."""

import matplotlib
import numpy as np

WIDEST = 800
SCALE = 2
LOW, HIGH = -1.0, 1.5


def drawn(features: np.ndarray) -> np.ndarray:
    """`[2 * mels, 2 * frames, 3]` uint8 of features `[frames, mels]`, cut to 400 frames."""
    levels = np.clip((features[: WIDEST // SCALE].T[::-1] - LOW) / (HIGH - LOW), 0, 1)
    large = levels.repeat(SCALE, axis=0).repeat(SCALE, axis=1)
    return (matplotlib.colormaps["magma"](large)[..., :3] * 255).round().astype(np.uint8)
