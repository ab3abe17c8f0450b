"""Drawings of the report: time over size, and pictures with their difference."""

import base64
import io
import math
from collections.abc import Mapping, Sequence
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


def times(measurement: Mapping[str, Any], *, dark: bool = False) -> Drawing:
    """Draw median and quartiles of every side as SVG, inked for a light or dark page.

    Over the size with both axes logarithmic; where only one size was measured, as bars.
    """
    import matplotlib
    from matplotlib.figure import Figure

    ink = "#c9d1d9" if dark else "#333a42"
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "jaxkit", "font.family": "sans-serif"}):
        sides = _ordered(measurement["sides"])
        draw = _curves if len(_sizes(sides)) > 1 else _bars
        figure = Figure(figsize=(5.4, 3.6 if draw is _curves else 0.9 + 0.4 * len(sides)), layout="constrained")
        draw(figure.add_subplot(), sides, (measurement.get("machine") or {}).get("limit_s"), ink)
        return Drawing(_svg_uri(figure), _describe(sides))


def difference(reference: np.ndarray, rewrite: np.ndarray) -> Difference:
    """Amplify the absolute difference of two uint8 pictures [H, W, C] by the largest power of two that fits."""
    if reference.shape != rewrite.shape:
        shapes = f"slow {reference.shape}, jaxkit {rewrite.shape}"
        return Difference(np.zeros((8, 8, 3), np.uint8), 1, f"the shapes differ: {shapes}")
    gap = np.abs(reference.astype(np.int32) - rewrite.astype(np.int32))
    largest = int(gap.max(initial=0))
    if largest == 0:
        return Difference(gap.astype(np.uint8), 1, "no difference: every value is equal")
    factor = 2 ** int(math.log2(255 // largest))
    told = f"amplified ×{factor}: largest {largest} level{'s' if largest > 1 else ''}"
    differing = wording.share(float((gap > 0).mean()))
    return Difference((gap * factor).astype(np.uint8), factor, f"{told}, {differing} of the values differ")


def sheet(panes: Sequence[np.ndarray]) -> np.ndarray:
    """Put pictures [H, W, C] of any sizes under each other on white, as one picture [H, W, 3] for a file."""
    colour = [np.broadcast_to(pane[..., :3], (*pane.shape[:2], 3)) for pane in panes]
    width = max(pane.shape[1] for pane in colour)
    rows = [np.pad(pane, ((0, 8), (0, width - pane.shape[1]), (0, 0)), constant_values=255) for pane in colour]
    return np.concatenate(rows)


def png(picture: np.ndarray) -> bytes:
    """Encode a picture [H, W, C] uint8 with C of 1, 3 or 4 as PNG."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture[..., 0] if picture.shape[-1] == 1 else picture).save(buffer, "PNG")
    return buffer.getvalue()


def png_uri(picture: np.ndarray) -> str:
    """Encode a picture as a data URI for an HTML page."""
    return "data:image/png;base64," + base64.b64encode(png(picture)).decode()


def reduction(picture: np.ndarray) -> int:
    """Say by which whole factor a picture [H, W, C] has to be reduced to fit the page; 1 for most."""
    return max(1, -(-max(picture.shape[:2]) // LONGEST_SIDE))


def shrink(picture: np.ndarray, *, keep: str = "mean") -> np.ndarray:
    """Reduce a picture [H, W, C] by a whole factor until it fits the page; `keep="max"` loses no difference."""
    factor = reduction(picture)
    if factor == 1:
        return picture
    height, width = (extent // factor * factor for extent in picture.shape[:2])
    blocks = picture[:height, :width].reshape(height // factor, factor, width // factor, factor, -1)
    small = blocks.max(axis=(1, 3)) if keep == "max" else np.rint(blocks.mean(axis=(1, 3)))
    return small.astype(np.uint8)


def _ordered(sides: Mapping[str, Any]) -> dict[str, Any]:
    """Put slow and jaxkit first, so that a port's colours are the same in every report."""
    first = [side for side in ("reference", "rewrite") if side in sides]
    return {side: sides[side] for side in dict.fromkeys([*first, *sides])}


def _sizes(sides: Mapping[str, Any]) -> list[float]:
    return sorted({float(size) for by_size in sides.values() for size in by_size})


def _curves(axes: Any, sides: Mapping[str, Any], limit: float | None, ink: str) -> None:
    lines = [_curve(axes, side, by_size, index) for index, (side, by_size) in enumerate(sides.items()) if by_size]
    if limit:
        lines.append(axes.axhline(limit, color=ink, linestyle=":", label="machine's limit, largest size"))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(_sizes(sides), [wording.figure(size) for size in _sizes(sides)])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: wording.round_seconds(value))
    axes.set_ylabel("time of one call", color=ink)
    _dress(axes, "size", ink)
    axes.figure.legend(handles=lines, loc="outside upper center", ncols=3, frameon=False, labelcolor=ink, fontsize=9)


def _curve(axes: Any, side: str, by_size: Mapping[str, Any], index: int) -> Any:
    sizes = sorted(by_size, key=float)
    middle = np.array([by_size[size]["median_s"] for size in sizes])
    low = middle - [by_size[size]["low_s"] for size in sizes]
    high = [by_size[size]["high_s"] for size in sizes] - middle
    return axes.errorbar(
        [float(size) for size in sizes],
        middle,
        yerr=np.maximum([low, high], 0.0),
        label=wording.side_name(side),
        color=COLOURS[index % len(COLOURS)],
        marker=MARKERS[index % len(MARKERS)],
        linewidth=2.4 if side == "rewrite" else 1.6,
        capsize=3,
    )


def _bars(axes: Any, sides: Mapping[str, Any], limit: float | None, ink: str) -> None:
    for index, (side, by_size) in enumerate(sides.items()):
        for time in by_size.values():
            bar = axes.barh(wording.side_name(side), time["median_s"], color=COLOURS[index % len(COLOURS)])
            axes.bar_label(bar, [wording.seconds(time["median_s"])], padding=4, color=ink)
    if limit:
        axes.axvline(limit, color=ink, linestyle=":")
    axes.margins(x=0.2)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda value, _: wording.round_seconds(value))
    _dress(axes, "time of one call" + (" (dotted: the machine's limit)" if limit else ""), ink, grid="x")


def _dress(axes: Any, label: str, ink: str, *, grid: str = "both") -> None:
    axes.set_xlabel(label, color=ink)
    axes.tick_params(colors=ink, which="both")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(ink)
    axes.grid(True, axis=grid, color=ink, alpha=0.18, linewidth=0.8)
    axes.set_axisbelow(True)


def _svg_uri(figure: Any) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()


def _describe(sides: Mapping[str, Any]) -> str:
    told = []
    for side, by_size in sides.items():
        size = max(by_size, key=float, default=None)
        if size is not None:
            told.append(f"{wording.side_name(side)} {wording.seconds(by_size[size]['median_s'])} at size {size}")
    return "Time of one call: " + ", ".join(told) + "."
