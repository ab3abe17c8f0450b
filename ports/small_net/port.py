"""EfficientNet-Lite0 with its published weights: stock Flax, against jaxkit's way to int8 in ONNX Runtime."""

from functools import partial

import numpy as np

from jaxkit.port import Case, Close, Limits, Picture, Port, Request

from . import fast, slow
from .agreements import SameClass, Simulated, by_parts
from .picture import grid
from .pictures import SIDE, normalised, some, tests
from .tables import tables

SIZES = (1, 16)
LEAST_SPEEDUP = 8.0
SHOWN = 12


def cases(request: Request) -> list[Case]:
    """`(pictures,)` `[N, 224, 224, 3]` float32: one, some at once, and pictures without content."""
    fast.opened("int8", fast.CORES)  # files are made once, before anything is served
    count = 4 if request.quick else 16
    noise = np.random.default_rng(request.seed).integers(0, 256, (SIDE, SIDE, 3))
    plain = np.stack([np.zeros_like(noise), np.full_like(noise, 255), noise, np.full_like(noise, 127)])
    found = [Case(f"{count} pictures", (some(count, request),)), Case("plain and noise", (normalised(plain),))]
    return found if request.quick else [Case("one picture", (some(1, request),)), *found]


def tested(request: Request) -> np.ndarray:
    return normalised(tests(request))


def inputs(size: int, request: Request) -> tuple:
    """`(pictures,)` for the measurement."""
    return (some(size, request),)


def pictures(request: Request) -> list[Picture]:
    """Pictures, and the classes that both networks see in them; a number that differs is a class that differs."""
    shown = tests(request)
    shown = shown[:: max(1, len(shown) // SHOWN)][:SHOWN]
    sides = (by_parts(side, normalised(shown)).argmax(1) for side in (slow.classify, fast.classify))
    return [Picture("Classes of ImageNet: Flax, and int8", grid(shown), *(grid(shown, found) for found in sides))]


close = partial(Close, slow.classify_exactly, 2.0, slow.classify)

PORT = Port(
    name="small_net",
    claim="An image classifier in a quarter of the bytes and a small part of the time, with no logit unforeseen.",
    reference=slow.classify,
    rewrite=fast.classify,
    cases=cases,
    agreement=(
        close(fast.classify_in_jax, name="Flax with jaxkit's convolutions"),
        close(fast.classify_in_float, name="ONNX Runtime in float"),
        Simulated(fast.int8_file, tested),
        SameClass(slow.classify, fast.classify, tested),
    ),
    inputs=inputs,
    sizes=SIZES,
    alternatives={
        "Flax, jaxkit's convolutions": fast.classify_in_jax,
        "ONNX Runtime, float": fast.classify_in_float,
    },
    limits=Limits(host_syncs=None, speedup=LEAST_SPEEDUP),
    pictures=pictures,
    tables=tables,
    deviations=(
        "In integers the logits are not those in float: signal to noise is near 18 dB, and about one picture in nine, "
        "of those that the network is not sure of, gets another class.",
        "Ranges are always chosen by scikit-image's photographs; yours only test.",
    ),
)
