"""Sessions of LiteRT (TensorFlow Lite) with XNNPACK, its default, for files that anybody wrote."""

from collections.abc import Callable
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter


def open_session(*, path: str, threads: int) -> Callable[[Any], np.ndarray]:
    """A function of float32 `[N, 224, 224, 3]`, in as many calls as the batch of the file asks for."""
    interpreter = Interpreter(model_path=path, num_threads=threads)
    interpreter.allocate_tensors()
    given, made = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
    rows = int(given["shape"][0])

    def one(x: np.ndarray) -> np.ndarray:
        interpreter.set_tensor(given["index"], as_integers(x, given))
        interpreter.invoke()
        return as_reals(interpreter.get_tensor(made["index"]), made)

    return lambda x: np.concatenate([one(x[i : i + rows]) for i in range(0, len(x), rows)])


def as_integers(x: np.ndarray, tensor: dict) -> np.ndarray:
    """What a file with integers at its ends wants."""
    if tensor["dtype"] == np.float32:
        return x
    scale, zero = tensor["quantization"]
    kept = np.iinfo(tensor["dtype"])
    return np.clip(np.rint(x / np.float32(scale)) + zero, kept.min, kept.max).astype(tensor["dtype"])


def as_reals(y: np.ndarray, tensor: dict) -> np.ndarray:
    if tensor["dtype"] == np.float32:
        return y
    scale, zero = tensor["quantization"]
    return (y.astype(np.float32) - np.float32(zero)) * np.float32(scale)
