"""A network that is trained here, on real digits: what is lost by integers, without and with training for them."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from jaxkit import Sample, batch
from jaxkit.compress import Graph, Quantized, converted, observed, post_training, quantization_aware, target, trace
from jaxkit.export import to_onnx
from jaxkit.nn import ConvNorm, InvertedResidual, SeparableConv
from jaxkit.warp import fuse, rotate, translate

from .digit_data import Digits, load

EPOCHS, QUICK_EPOCHS = 8, 3
AWARE_EPOCHS = 2
ROWS = 64
RATE, AWARE_RATE = 1e-2, 5e-4
CALIBRATION = 256  # digits of the training set
TARGET = target("onnxruntime")
Wanted = Callable[[jax.Array, jax.Array], jax.Array]
Forward = Callable[[Any, Any, jax.Array], tuple[jax.Array, Any]]

AUGMENT = batch(fuse(rotate(degrees=(-5, 5)), translate(fraction=(-0.05, 0.05))))


class MobileNet(nnx.Module):
    """Digits `[N, 28, 28, 1]` in [0, 1] to logits `[N, 10]`, by depthwise convolutions, in 25 000 weights."""

    def __init__(self, *, rngs: nnx.Rngs):
        shared = {"activation": jax.nn.relu6, "rngs": rngs}
        self.stem = ConvNorm(1, 16, stride=2, **shared)
        self.blocks = nnx.List(
            [
                SeparableConv(16, 24, **shared),
                InvertedResidual(24, 32, hidden=72, stride=2, **shared),
                InvertedResidual(32, 32, hidden=96, **shared),
                InvertedResidual(32, 32, hidden=96, **shared),
            ]
        )
        self.head = ConvNorm(32, 128, kernel=1, **shared)
        self.classify = nnx.Linear(128, 10, rngs=rngs)
        for _, part in nnx.iter_modules(self):
            if isinstance(part, nnx.BatchNorm):
                part.momentum = 0.9  # some hundred steps are too few for averages over a hundred

    def __call__(self, x: jax.Array) -> jax.Array:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.classify(jnp.mean(self.head(x), axis=(1, 2)))


class Outcome(NamedTuple):
    """Right answers of each network among the test digits.

    Attributes:
      right: of "float", "post-training" and "aware", in ONNX Runtime, and of how many digits.
      same: whether the runtime gave the simulator's logits, for both networks in integers.
      bytes: sizes of the files.
    """

    right: dict[str, int]
    same: dict[str, float]
    bytes: dict[str, int]
    count: int

    def lost(self, name: str) -> float:
        """Percentage points that a network loses against the one in float."""
        return 100 * (self.right["float"] - self.right[name]) / self.count


@cache
def outcome(folder: Path, *, quick: bool = False, seed: int = 0) -> Outcome:
    """Trains, quantizes, trains on, writes the files into a folder, and runs these on the test digits."""
    digits = load()
    graph = trained(digits, QUICK_EPOCHS if quick else EPOCHS, seed)
    seen = observed(graph, [digits.train[:CALIBRATION]], bins=2048)
    # Training rounds every weight by itself at every step, so it starts with weights and biases made that way.
    start = post_training(graph, seen, target=TARGET, rounding="nearest")
    networks = {"float": graph, "post-training": post_training(graph, seen, target=TARGET)}
    networks["aware"] = aware(graph, start, digits, seed)
    files = {name: to_onnx(network, folder / f"digits-{name}.onnx") for name, network in networks.items()}
    right = {name: int((file.open()(digits.test).argmax(1) == digits.answers).sum()) for name, file in files.items()}
    same = {name: file.verify(digits.test[:256]).exact for name, file in files.items() if name != "float"}
    return Outcome(right, same, {name: file.size for name, file in files.items()}, len(digits.test))


def trained(digits: Digits, epochs: int, seed: int) -> Graph:
    """A network in float, from nothing."""
    definition, params, rest = nnx.split(MobileNet(rngs=nnx.Rngs(seed)), nnx.Param, ...)

    def forward(params: Any, rest: Any, images: jax.Array) -> tuple[jax.Array, Any]:
        network = nnx.merge(definition, params, rest, copy=True)  # its statistics change while gradients are taken
        return network(images), nnx.state(network, nnx.Not(nnx.Param))

    steps = batches(digits, epochs, seed)
    network = nnx.merge(definition, *descended(forward, right, params, rest, RATE, steps))
    network.eval()
    return trace(network, jax.ShapeDtypeStruct((1, *digits.train.shape[1:]), np.float32))


def aware(graph: Graph, start: Quantized, digits: Digits, seed: int) -> Quantized:
    """The quantized network, trained on with its integers: to give what the network in float gives."""
    function, params = quantization_aware(start.graph, target=TARGET, start=start)
    steps = batches(digits, AWARE_EPOCHS, seed + 1)
    params, _ = descended(
        lambda params, rest, x: (function(params, x), rest),
        lambda images, labels: jax.nn.softmax(graph(images)),
        params,
        (),
        AWARE_RATE,
        steps,
    )
    return converted(params, start=start)


def right(images: jax.Array, labels: jax.Array) -> jax.Array:
    return jax.nn.one_hot(labels, 10)


def descended(forward: Forward, wanted: Wanted, params: Any, rest: Any, rate: float, steps: list) -> tuple[Any, Any]:
    """Follows the gradient towards wanted probabilities `[N, 10]`, in smaller and smaller steps.

    Returns:
      The parameters, and what else of the network changed.
    """
    optimizer = optax.adamw(optax.cosine_decay_schedule(rate, len(steps)), weight_decay=1e-4)

    def measured(params: Any, rest: Any, images: jax.Array, labels: jax.Array) -> tuple[jax.Array, Any]:
        logits, rest = forward(params, rest, images)
        return optax.softmax_cross_entropy(logits, wanted(images, labels)).mean(), rest

    @jax.jit
    def step(params: Any, rest: Any, state: Any, images: jax.Array, labels: jax.Array) -> tuple[Any, Any, Any]:
        gradient, rest = jax.grad(measured, has_aux=True)(params, rest, images, labels)
        updates, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, updates), rest, state

    state = optimizer.init(params)
    with jax.numpy_dtype_promotion("standard"):  # optax mixes a float with an int32 count
        for key, rows, images, labels in steps:
            params, rest, state = step(params, rest, state, moved(key, rows, images), labels)
    return params, rest


def moved(key: jax.Array, ids: np.ndarray, images: np.ndarray) -> jax.Array:
    with jax.debug_key_reuse(False):  # every digit of every epoch has an id of its own
        return AUGMENT(key, ids, Sample(images)).image


def batches(digits: Digits, epochs: int, seed: int) -> list[tuple[jax.Array, np.ndarray, np.ndarray, np.ndarray]]:
    """`(key, ids, images, labels)`: every digit once in an epoch, but for those that fill no batch."""
    key, rng, count, found = jax.random.key(seed), np.random.default_rng(seed), len(digits.train), []
    for epoch in range(epochs):
        order = rng.permutation(count)
        for start in range(0, count - ROWS + 1, ROWS):
            rows = order[start : start + ROWS]
            ids = (epoch * count + rows).astype(np.int32)
            found.append((key, ids, digits.train[rows], digits.labels[rows]))
    return found
