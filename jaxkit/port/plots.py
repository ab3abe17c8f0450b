"""Drawings of the report: time over size, and the difference of two pictures. Matplotlib and Pillow are imported when needed."""

import base64
import io
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxkit.port import wording

# Okabe & Ito, "Color universal design" (2008): tells sides apart for colour-blind readers, on light and dark ground.
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = "osD^vP"
LONGEST_SIDE = 1024


class Drawing(NamedTuple):
    """An image as a data URI and the sentence that stands for it where it cannot be seen."""

    uri: str
    alt: str


class Difference(NamedTuple):
    """`picture` [H, W, C] uint8 is the absolute difference times `factor`; `caption` says so."""

    picture: np.ndarray
    factor: int
    caption: str


def time_over_size(measurement: Mapping[str, Any], *, dark: bool = False) -> Drawing:
    """Draws median and quartiles of every side over the size, both axes logarithmic, as SVG with the ink for `dark`."""
    import matplotlib
    from matplotlib.figure import Figure

    ink = "#c9d1d9" if dark else "#333a42"
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "jaxkit", "font.family": "sans-serif"}):
        figure = Figure(figsize=(5.4, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for index, (side, times) in enumerate(_ordered(measurement["sides"]).items()):
            _draw_side(axes, side, times, index)
        _draw_limit(axes, measurement, ink)
        _dress(axes, measurement, ink)
        return Drawing(_svg_uri(figure), _describe(measurement))


def difference(reference: np.ndarray, rewrite: np.ndarray) -> Difference:
    """Amplifies the absolute difference of two uint8 pictures [H, W, C] by the largest power of two that fits."""
    if reference.shape != rewrite.shape:
        shapes = f"slow {reference.shape}, jaxkit {rewrite.shape}"
        return Difference(np.zeros((8, 8, 3), np.uint8), 1, f"the shapes differ: {shapes}")
    gap = np.abs(reference.astype(np.int32) - rewrite.astype(np.int32))
    largest = int(gap.max(initial=0))
    if largest == 0:
        return Difference(gap.astype(np.uint8), 1, "no difference: every value is equal")
    factor = 2 ** int(math.log2(255 // largest))
    told = f"largest {largest} level{'s' if largest > 1 else ''}, {wording.share(float((gap > 0).mean()))} of the values differ"
    return Difference((gap * factor).astype(np.uint8), factor, f"amplified ×{factor}: {told}")


def png(picture: np.ndarray) -> bytes:
    """Encodes a picture [H, W] or [H, W, C] uint8 with C in 1, 3, 4 as PNG."""
    from PIL import Image

    array = np.asarray(picture)
    if array.dtype != np.uint8:
        raise ValueError(f"a picture in a report is uint8 [H, W, C], not {array.dtype} {array.shape}; convert it in `pictures`")
    buffer = io.BytesIO()
    Image.fromarray(array[..., 0] if array.ndim == 3 and array.shape[-1] == 1 else array).save(buffer, "PNG")
    return buffer.getvalue()


def png_uri(picture: np.ndarray) -> str:
    """Encodes a picture as a data URI for an HTML page."""
    return "data:image/png;base64," + base64.b64encode(png(picture)).decode()


def shrink(picture: np.ndarray, *, keep: str = "mean") -> np.ndarray:
    """Reduces a picture [H, W, C] by a whole factor until its longest side fits the page; `keep="max"` loses no difference."""
    factor = -(-max(picture.shape[:2]) // LONGEST_SIDE)
    if factor == 1:
        return picture
    height, width = (extent // factor * factor for extent in picture.shape[:2])
    blocks = picture[:height, :width].reshape(height // factor, factor, width // factor, factor, -1)
    small = blocks.max(axis=(1, 3)) if keep == "max" else np.rint(blocks.mean(axis=(1, 3)))
    return small.astype(np.uint8)


def _ordered(sides: Mapping[str, Any]) -> dict[str, Any]:
    """Puts slow and jaxkit first, so that a port's colours are the same in every report."""
    first = [side for side in ("reference", "rewrite") if side in sides]
    return {side: sides[side] for side in [*first, *(side for side in sides if side not in first)]}


def _draw_side(axes: Any, side: str, times: Mapping[str, Any], index: int) -> None:
    sizes = sorted(times, key=float)
    middle = np.array([times[size]["median_s"] for size in sizes])
    low = middle - [times[size]["low_s"] for size in sizes]
    high = [times[size]["high_s"] for size in sizes] - middle
    axes.errorbar(
        [float(size) for size in sizes],
        middle,
        yerr=np.maximum([low, high], 0.0),
        label=wording.side_name(side),
        color=COLOURS[index % len(COLOURS)],
        marker=MARKERS[index % len(MARKERS)],
        markersize=6,
        linewidth=2.4 if side == "rewrite" else 1.6,
        capsize=3,
    )


def _draw_limit(axes: Any, measurement: Mapping[str, Any], ink: str) -> None:
    limit = (measurement.get("machine") or {}).get("limit_s")
    if limit:
        axes.axhline(limit, color=ink, linestyle=":", linewidth=1.2, label="machine's limit, largest size")


def _dress(axes: Any, measurement: Mapping[str, Any], ink: str) -> None:
    sizes = sorted({float(size) for times in measurement["sides"].values() for size in times})
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sizes, [wording.figure(size) for size in sizes])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: wording.seconds(value).replace(".00", "").replace(".0 ", " "))
    axes.set_xlabel("size", color=ink)
    axes.set_ylabel("time of one call", color=ink)
    axes.tick_params(colors=ink, which="both")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(ink)
    axes.grid(True, color=ink, alpha=0.18, linewidth=0.8)
    axes.figure.legend(loc="outside upper center", ncols=3, frameon=False, labelcolor=ink, fontsize=9)


def _svg_uri(figure: Any) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()


def _describe(measurement: Mapping[str, Any]) -> str:
    told = []
    for side, times in _ordered(measurement["sides"]).items():
        size = max(times, key=float, default=None)
        if size is not None:
            told.append(f"{wording.side_name(side)} {wording.seconds(times[size]['median_s'])} at size {size}")
    return "Time of one call over size, both axes logarithmic: " + ", ".join(told) + "."
