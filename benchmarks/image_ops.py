"""What is measured: every op of `jaxkit.warp`, `jaxkit.image` and `jaxkit.ocr`, and three chains."""

from collections.abc import Callable
from typing import NamedTuple

from jaxkit import Op, chain, image, ocr, warp
from ports.ocr_lines.fast import LINE

WARP = 0.7
PIXELS = 1.0
COLOUR = ("lines", "photos")
ALL = ("lines", "grey", "photos")
FLOAT = (*ALL, "float")


class Subject(NamedTuple):
    """One op for pictures of a height and a width.

    Attributes:
      make: `(height, width) -> Op`.
      sizes: names of the batches that it is measured on.
      goal: the least speed relative to OpenCV in two threads, on uint8.
      chained: whether it is also measured against two worker processes.
    """

    make: Callable[[int, int], Op]
    sizes: tuple[str, ...] = ALL
    goal: float | None = None
    chained: bool = False


def part(height: int, width: int, share: float) -> tuple[int, int]:
    return round(height * share), round(width * share)


def fixed(op: Op, *, sizes: tuple[str, ...] = ALL, goal: float | None = None, chained: bool = False) -> Subject:
    return Subject(lambda height, width: op, sizes, goal, chained)


def sized(factory: Callable[..., Op], share: float, **options) -> Subject:
    return Subject(lambda height, width: factory(size=part(height, width, share), **options), goal=WARP)


def turned_window(height: int, width: int) -> Op:
    """Rotation, zoom and shift, a random window of seven eighths, and a mirror: one read of the pixels."""
    window = warp.random_crop(size=part(height, width, 7 / 8))
    return warp.fuse(warp.rotate(), warp.scale(), warp.translate(), window, warp.flip(horizontal=0.5))


RECOLOUR = chain(
    image.grayscale(p=0.2),
    image.tone(image.brightness_contrast(), image.gamma(), image.invert(p=0.5)),
    image.gaussian_noise(),
)

SUBJECTS = {
    "rotate": fixed(warp.rotate(), sizes=FLOAT, goal=WARP),
    "scale": fixed(warp.scale(), goal=WARP),
    "shear": fixed(warp.shear(), goal=WARP),
    "translate": fixed(warp.translate(), goal=WARP),
    "perspective": fixed(warp.perspective(), goal=WARP),
    "elastic": fixed(warp.elastic(), goal=WARP),
    "fused_warp": fixed(warp.fuse(warp.rotate(), warp.perspective(), warp.elastic()), sizes=FLOAT, goal=WARP),
    "curve": fixed(ocr.curve(), goal=WARP),
    "resize": sized(warp.resize, 0.75, antialias=False),
    "resize_antialias": sized(warp.resize, 0.5, antialias=True),
    "flip": fixed(warp.flip(horizontal=1.0), goal=WARP),
    "quarter_turn": fixed(warp.quarter_turn(), goal=WARP),
    "random_crop": sized(warp.random_crop, 0.75),
    "center_crop": sized(warp.center_crop, 0.75),
    "pad_to": sized(warp.pad_to, 1.25),
    "brightness_contrast": fixed(image.brightness_contrast(), sizes=FLOAT, goal=PIXELS),
    "gamma": fixed(image.gamma(), goal=PIXELS),
    "invert": fixed(image.invert(p=1.0), goal=PIXELS),
    "tone": fixed(image.tone(image.brightness_contrast(), image.gamma(), image.invert(p=0.5)), goal=PIXELS),
    "grayscale": fixed(image.grayscale(p=1.0), sizes=COLOUR),
    "gaussian_blur": fixed(image.gaussian_blur(), sizes=FLOAT, goal=PIXELS),
    "gaussian_noise": fixed(image.gaussian_noise(), sizes=FLOAT, goal=PIXELS),
    "stroke_width": fixed(ocr.stroke_width(), sizes=FLOAT, goal=PIXELS),
    "line_chain": fixed(LINE, sizes=("lines", "grey"), chained=True),
    "pointwise_chain": fixed(RECOLOUR, sizes=COLOUR, chained=True),
    "geometry_chain": Subject(turned_window, ("photos",), chained=True),
}
