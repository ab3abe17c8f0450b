"""How fast a device moves memory."""

import time
from typing import Any

import jax
import numpy as np


def bandwidth(device: Any) -> float:
    """Bytes a second of a copy on the device, both ways counted."""
    values = jax.device_put(np.ones(2**26, np.float32), device)
    double = jax.jit(lambda x: x * 2)
    jax.block_until_ready(double(values))
    start = time.perf_counter()
    for _ in range(10):
        values = double(values)
    jax.block_until_ready(values)
    return 10 * 2 * values.nbytes / (time.perf_counter() - start)
