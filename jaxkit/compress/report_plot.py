"""A report as a picture: a row for each layer, the network from top to bottom."""

import os
from typing import Any

import numpy as np

ROW = 0.17  # inches
PANELS = (
    ("sqnr", "its value, all quantized (dB)"),
    ("alone", "output, it alone quantized (dB)"),
    ("gain", "output, won with it in float (dB)"),
)
BLUE, ORANGE = "#3b6ea5", "#d9822b"
NAMED = 3


def draw(report: Any, path: str | os.PathLike) -> None:
    """Draws a `Report` into a `.png`; the three worst layers of each panel are orange, those in float have no bar."""
    from matplotlib.figure import Figure

    layers = report.layers
    figure = Figure(figsize=(11, 1.6 + ROW * len(layers)), dpi=110, layout="constrained")
    panels = figure.subplots(1, len(PANELS), sharey=True)
    places = np.arange(len(layers))
    for panel, (field, title) in zip(panels, PANELS, strict=True):
        values = np.array([np.nan if (v := getattr(layer, field)) is None else v for layer in layers], float)
        panel.barh(places, values, color=_colours(values, worst_is_high=field == "gain"), height=0.75)
        panel.set_title(title, fontsize=9)
        panel.axvline(0, color="black", lw=0.5)
        panel.tick_params(labelsize=7)
        panel.grid(axis="x", lw=0.3)
        panel.set_axisbelow(True)
    panels[0].set_yticks(places, [f"{layer.name}" for layer in layers])
    panels[0].set_ylim(len(layers) - 0.4, -0.6)
    figure.suptitle(_title(report), fontsize=10)
    figure.savefig(path, metadata={"Software": None})


def _colours(values: np.ndarray, *, worst_is_high: bool) -> list[str]:
    known = np.flatnonzero(np.isfinite(values))
    order = known[np.argsort(-values[known] if worst_is_high else values[known], kind="stable")]
    worst = set(order[:NAMED].tolist())
    return [ORANGE if place in worst else BLUE for place in range(len(values))]


def _title(report: Any) -> str:
    quality = "exact" if report.sqnr is None else f"{report.sqnr:.1f} dB"
    return f"{report.target}: output {quality}, top-1 agrees in {report.top1:.1%} of {report.examples:,} examples"
