"""What is to hold beside speed: compile time, number of compilations, memory, and the gain over the slow program."""

import time
from typing import NamedTuple

import jax
import numpy as np

from benchmarks.image_ops import LINE
from benchmarks.measure import seconds
from benchmarks.pictures import SIZES, pictures
from jaxkit import Sample, batch
from jaxkit.port.watch import compilations
from jaxkit.warp import elastic, fuse, perspective, rotate
from ports.ocr_lines import slow

PAGE = (64, 1024, 704, 3)
CALLS = 100


class Limit(NamedTuple):
    """A number that was measured and the bound that it is to keep."""

    name: str
    value: float
    unit: str
    bound: str
    reached: bool


def limits(*, quick: bool) -> list[Limit]:
    """Measures all of them; `quick` calls the slow program for one line instead of three."""
    return [warp_memory(), compile_time(), *recompilations(), gain_over_slow(lines=1 if quick else 3)]


def warp_memory() -> Limit:
    """Temporary bytes of rotation, perspective and bending in one read, as XLA plans them."""
    call = batch(fuse(rotate(), perspective(), elastic()))
    sample = Sample(image=jax.ShapeDtypeStruct(PAGE, np.uint8))
    params = call.draw(jax.random.key(0), np.arange(PAGE[0]), sample)
    used = call.apply.lower(params, sample).compile().memory_analysis().temp_size_in_bytes
    value = float(used / np.prod(PAGE))
    return Limit(f"temporary memory of the fused warp on {PAGE} uint8", value, "batches", "< 5", value < 5)


def compile_time() -> Limit:
    """From nothing in JAX's caches to the first batch of lines, less the time of a batch."""
    jax.clear_caches()
    call, sample = batch(LINE), Sample(image=pictures(SIZES["lines"]))
    key, ids = jax.random.key(0), np.arange(SIZES["lines"].count)
    run = lambda: jax.block_until_ready(call(key, ids, sample))  # noqa: E731
    value = seconds(run) - seconds(run)
    return Limit("compile time of the chain of lines", value, "s", "< 10", value < 10)


def recompilations() -> list[Limit]:
    """Compilations of draw and of apply in calls with different keys and ids, the first included."""
    call, size = batch(LINE), SIZES["lines"]._replace(count=4)
    sample = Sample(image=pictures(size))
    keys = list(jax.random.split(jax.random.key(1), CALLS))
    ids = np.arange(size.count)
    with compilations() as drawing:
        drawn = [call.draw(key, ids + index, sample) for index, key in enumerate(keys)]
    with compilations() as applying:
        jax.block_until_ready([call.apply(params, sample) for params in drawn])
    counts = {"draw": len(drawing.compiles), "apply": len(applying.compiles)}
    return [Limit(f"compilations of {part} in {CALLS} calls", n, "", "1", n == 1) for part, n in counts.items()]


def gain_over_slow(*, lines: int) -> Limit:
    """The port's plain Python per line, over jaxkit's time per line of a batch."""
    size = SIZES["lines"]
    images, rng, call = pictures(size), np.random.default_rng(0), batch(LINE)
    start = time.perf_counter()
    for image in images[:lines]:
        slow.augment(rng, image)
    slow_seconds = (time.perf_counter() - start) / lines
    sample, ids = Sample(image=images), np.arange(size.count)
    keys = list(jax.random.split(jax.random.key(2), 8))
    times = [seconds(lambda k=key: jax.block_until_ready(call(k, ids, sample))) for key in keys]
    value = slow_seconds / (float(np.median(times)) / size.count)
    return Limit("speed of the chain of lines over plain Python", value, "times", ">= 100", value >= 100)
