"""Augmentation of text lines for OCR training: plain Python line by line, against one call of jaxkit per batch."""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

import jax
import numpy as np

from jaxkit import Sample
from jaxkit.interop import stack, unstack
from jaxkit.port import Case, Close, Levels, Limits, Picture, Port, Request, SameDistribution, Table

from . import distribution, injected, slow, training, vectorised
from .fast import AUGMENT
from .lines import PAPER, Folder, Line, batch_of, by_width, read_folder
from .page import page_lines
from .render import rendered


def line_by_line(augment: Callable) -> Callable[..., np.ndarray]:
    """`(key, ids, lines) -> images [B, H, W, 3]`, each line with a generator of its own, as `AUGMENT` has."""

    def run(key: jax.Array, ids: np.ndarray, lines: Sample) -> np.ndarray:
        root = np.asarray(jax.random.key_data(key))
        rngs = [np.random.default_rng((*root, index)) for index in ids]
        done = [augment(rng, image) for rng, image in zip(rngs, unstack(lines), strict=True)]
        return stack(done, size=lines.image.shape[1:3], fill=PAPER).image

    return run


def alternatives() -> dict[str, Callable]:
    """What else one could write; OpenCV where it is installed."""
    programs = {"vectorised NumPy": line_by_line(vectorised.augment)}
    if find_spec("cv2"):
        from . import opencv

        programs["OpenCV"] = line_by_line(opencv.augment)
    return programs


@cache
def found(request: Request) -> Folder:
    """The user's lines, or those of the scanned page and generated ones in turn."""
    if request.input is not None:
        return read_folder(request.input)
    real = page_lines()
    made = rendered(max(len(real), 16), seed=request.seed)
    lines = [line for pair in zip(real, made, strict=False) for line in pair] or made
    return Folder(lines, [], len(lines))


def edge_cases(request: Request) -> list[Line]:
    noise = np.random.default_rng(request.seed).integers(0, 256, (64, 512, 3), dtype=np.uint8)
    images = {
        "one pixel high": noise[:1, :300],
        "one pixel wide": noise[:, :1],
        "all white": np.full((64, 40, 3), PAPER, np.uint8),
    }
    images |= {} if request.quick else {"fills the bucket": noise}
    return [Line(name, image) for name, image in images.items()]


def cases(request: Request) -> list[Case]:
    """`(key, ids, lines)`: lines of each padded width, and edge cases."""
    lines = found(request).lines
    narrowest = sorted(lines, key=lambda line: line.image.shape[1])[:3]
    lines = narrowest if request.quick else lines[:: -(-len(lines) // 16)]
    groups = {f"{len(group)} lines in {batch_of(group).image.shape[2]} columns": group for group in by_width(lines)}
    groups["edge cases"] = edge_cases(request)
    return [Case(name, (jax.random.key(request.seed), *numbered(group))) for name, group in groups.items()]


def numbered(lines: list[Line]) -> tuple[np.ndarray, Sample]:
    return np.arange(len(lines)), batch_of(lines)


def inputs(size: int, request: Request) -> tuple:
    """`(key, ids, lines)` for the measurement: lines of the commonest width, those nearest to their mean first."""
    group = max(by_width(found(request).lines), key=len)
    widths = np.array([line.image.shape[1] for line in group])
    order = np.argsort(abs(widths - widths.mean()), kind="stable")
    return jax.random.key(request.seed), *numbered([group[order[i % len(group)]] for i in range(size)])


def pictures(request: Request) -> list[Picture]:
    """Some lines before and after, with equal draws on both sides."""
    lines = found(request).lines[: 2 if request.quick else 6]
    batch = (jax.random.key(request.seed + 1), *numbered(lines))
    sides = injected.by_line(exact=False)(*batch), injected.by_batch(*batch)
    return [Picture(line.name, line.image, *pair) for line, *pair in zip(lines, *sides, strict=True)]


def tables(request: Request) -> list[Table]:
    """What was read, and the share of a training step that augmentation takes."""
    lines, skipped, count = found(request)
    read = f"{count} read" + (f", the first {len(lines)} of them used" if count > len(lines) else "")
    rows = (("lines", read), *((name, f"skipped: {reason}") for name, reason in skipped))
    return [Table("Input", ("file", "what became of it"), rows), training.table(request)]


PORT = Port(
    name="ocr_lines",
    claim="Seven augmentations of text lines in one compiled call per batch instead of Python loops over pixels.",
    reference=line_by_line(slow.augment),
    rewrite=AUGMENT,
    cases=cases,
    agreement=(
        Close(injected.by_line(exact=True), 2.0, injected.by_line(exact=False), injected.by_batch),
        Levels(3, 0.2, injected.by_line(exact=False), injected.by_batch),
        SameDistribution(
            distribution.slow_choices, distribution.fast_choices, distribution.LABELS, 20_000, name="same draws"
        ),
        SameDistribution(
            distribution.four_bytes, distribution.fast_noise, distribution.PIXELS, 20_000, name="same noise"
        ),
    ),
    inputs=inputs,
    sizes=(1, 8, 64),
    reference_sizes=(1,),
    alternatives=alternatives(),
    limits=Limits(compilations=2, compile_seconds=10.0, speedup=100.0),
    pictures=pictures,
    tables=tables,
    deviations=(
        "jaxkit reads pixels at coordinates rounded to 1/256 pixel, so a few values in a hundred differ by a level.",
        "jaxkit's noise is the sum of four random bytes, not exactly normal: mean and variance are the same, but its "
        "excess kurtosis is -0.3 and it ends at 3.45 standard deviations.",
    ),
)
