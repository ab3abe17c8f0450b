"""The same network in four steps, each of which can be the last one.

    logits = classify(pictures)  # float32 `[N, 224, 224, 3]` to `[N, 1000]`

`slow.py` holds the program that it replaces, `network.py` the network of both.
"""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import jax
import numpy as np
from flax import nnx

from jaxkit.compress import Graph, Quantized, post_training, target, trace
from jaxkit.export import Artifact, to_onnx
from jaxkit.nn import conv_general_dilated

from .network import loaded
from .pictures import SIDE, calibration

ROWS = 8  # pictures that are gone through at once in calibration
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# 1. One argument: depthwise convolutions that XLA does not make slow.
@cache
def in_jax() -> Callable[[np.ndarray], jax.Array]:
    definition, state = nnx.split(loaded(convolution=conv_general_dilated))
    run = jax.jit(lambda state, x: nnx.merge(definition, state)(x))
    return lambda pictures: run(state, pictures)


# 2. Its graph, with normalisation folded into weights: what is written to files.
@cache
def graph() -> Graph:
    return trace(loaded(convolution=conv_general_dilated), jax.ShapeDtypeStruct((1, SIDE, SIDE, 3), np.float32))


@cache
def float_file() -> Artifact:
    return to_onnx(graph(), below() / "float.onnx")


# 3. In integers, by what values are like on some pictures.
@cache
def quantized() -> Quantized:
    pictures = calibration()
    batches = [pictures[start : start + ROWS] for start in range(0, len(pictures), ROWS)]
    return post_training(graph(), batches, target=target("onnxruntime"))


# 4. In the runtime.
@cache
def int8_file() -> Artifact:
    return to_onnx(quantized(), below() / "int8.onnx")


@cache
def opened(kind: str, threads: int) -> Callable[[np.ndarray], np.ndarray]:
    """A session with the "float" or the "int8" file."""
    return {"float": float_file, "int8": int8_file}[kind]().open(threads=threads)


def classify_in_jax(pictures: np.ndarray) -> jax.Array:
    """Logits `[N, 1000]` float32 by Flax with jaxkit's convolutions."""
    return in_jax()(pictures)


def classify_in_float(pictures: np.ndarray) -> np.ndarray:
    """Logits `[N, 1000]` float32 by ONNX Runtime."""
    return opened("float", CORES)(pictures)


def classify(pictures: np.ndarray) -> np.ndarray:
    """Logits `[N, 1000]` float32 by ONNX Runtime, in integers from the first layer to the last."""
    return opened("int8", CORES)(np.asarray(pictures))


@cache
def folder() -> TemporaryDirectory:
    """Of the files that are written; it goes with the process."""
    return TemporaryDirectory(prefix="jaxkit-small-net-")


def below() -> Path:
    return Path(folder().name)
