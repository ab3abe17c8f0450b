"""A picture of points: from three sides, and a thin slice."""

import os
from typing import Any

import numpy as np

SHOWN = 20_000
SLICED = 2000
AXES = "xyz"


def plot_points(points: np.ndarray, path: str | os.PathLike, *, title: str = "") -> None:
    """Draws points `[n, 3]` into a `.png`: seen along z, y and x, and those of a slice through the middle.

    Many points are shown as a density, few as dots. The slice is 2 % of the points' extent along z, up to 10 % of it
    where points are few.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 12), dpi=110, layout="constrained")
    panels = figure.subplots(2, 2).flat
    for panel, (first, second) in zip(panels, ((0, 1), (0, 2), (1, 2)), strict=False):
        _projection(panel, points[:, first], points[:, second])
        panel.set_title(f"along {AXES[3 - first - second]}")
        panel.set(xlabel=AXES[first], ylabel=AXES[second], aspect="equal")
    _slice(panels[3], points)
    figure.suptitle(f"{title}: {len(points):,} points" if title else f"{len(points):,} points")
    figure.savefig(path, metadata={"Software": None})


def _projection(panel: Any, x: np.ndarray, y: np.ndarray) -> None:
    if len(x) > SHOWN:
        panel.hist2d(x, y, bins=int(np.clip((len(x) / 20) ** 0.5, 60, 400)), cmap="viridis", rasterized=True)
    else:
        _dots(panel, x, y)


def _dots(panel: Any, x: np.ndarray, y: np.ndarray) -> None:
    panel.scatter(x, y, s=float(np.clip(2e4 / max(len(x), 1), 1.5, 12)), lw=0, alpha=0.7, rasterized=True)


def _slice(panel: Any, points: np.ndarray) -> None:
    z = points[:, 2]
    low, high = (z.min(), z.max()) if len(z) else (0.0, 0.0)
    middle, half = (low + high) / 2, float(np.clip(SLICED / max(len(z), 1), 0.02, 0.1)) / 2 * (high - low)
    inside = points[abs(z - middle) <= half][: 5 * SHOWN]
    _dots(panel, inside[:, 0], inside[:, 1])
    panel.set_title(f"slice, {middle - half:.4g} < z < {middle + half:.4g}: {len(inside):,} points")
    panel.set(xlabel="x", ylabel="y", aspect="equal")
