"""Real lines: the scanned page that scikit-image ships, cut by the classic projection profiles."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from .lines import HEIGHT, WIDTH, Line, to_height

SLANTS = np.arange(-0.06, 0.0601, 0.004)
MARGIN = 2
WORD_GAP = 4


def page_lines() -> list[Line]:
    """The page's lines, cut at word gaps into pieces that fit the smallest bucket; empty without scikit-image."""
    path = page_file()
    return [] if path is None else cut(Image.open(path).convert("L"))


def page_file() -> Path | None:
    """The scan inside the installed package: it is read from disk, nothing is fetched or imported."""
    package = find_spec("skimage")
    path = package and package.origin and Path(package.origin).parent / "data" / "page.png"
    return path if path and path.is_file() else None


def cut(page: Image.Image) -> list[Line]:
    """Straightens the page by the slant whose row profile has the sharpest peaks, then cuts rows and words."""
    flat = Image.fromarray(ink(page).astype(np.uint8))
    sharpest = max(SLANTS, key=lambda slant: float(np.var(np.asarray(shear(flat, slant, fill=0)).mean(1))))
    page = shear(page, sharpest, fill=255)
    dark = ink(page)
    return [
        Line(f"page line {number} at {columns[0]}", crop(page, settle(dark, row, columns), columns))
        for number, row in enumerate(rows(dark), start=1)
        for columns in pieces(dark, row)
    ]


def shear(page: Image.Image, slant: float, *, fill: int) -> Image.Image:
    """Moves every column up or down by `slant` times its distance from the middle."""
    matrix = (1, 0, 0, slant, 1, -slant * page.width / 2)
    return page.transform(page.size, Image.Transform.AFFINE, matrix, Image.Resampling.BICUBIC, fillcolor=fill)


def ink(page: Image.Image) -> np.ndarray:
    """Darkness against the local paper `[h, w]` float64, so that the shadow of the page's edge is no ink."""
    paper = page.filter(ImageFilter.MaxFilter(15)).filter(ImageFilter.BoxBlur(7))
    return np.clip(np.asarray(paper, np.float64) - np.asarray(page, np.float64) - 25, 0, None)


def runs(marked: np.ndarray) -> Iterator[tuple[int, int]]:
    """Half-open (start, stop) of every run of True in `marked` `[n]`."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marked, [False]]).astype(np.int8)))
    return ((int(start), int(stop)) for start, stop in edges.reshape(-1, 2))


def rows(dark: np.ndarray) -> list[tuple[int, int]]:
    profile = dark.mean(1)
    return [run for run in runs(profile > 0.15 * np.percentile(profile, 90)) if run[1] - run[0] >= 8]


def pieces(dark: np.ndarray, row: tuple[int, int]) -> list[tuple[int, int]]:
    """Columns (start, stop) of groups of whole words, as many as the smallest bucket holds at 64 pixels height."""
    longest = WIDTH * (row[1] - row[0]) // HEIGHT
    groups: list[tuple[int, int]] = []
    for start, stop in runs(dark[row[0] : row[1]].max(0) > 20):
        same_word = groups and start - groups[-1][1] < WORD_GAP
        fits = groups and stop - groups[-1][0] <= longest
        groups[-1:] = [(groups[-1][0], stop)] if same_word or fits else [*groups[-1:], (start, stop)]
    return [group for group in groups if group[1] - group[0] > 2 * WORD_GAP]


def settle(dark: np.ndarray, row: tuple[int, int], columns: tuple[int, int]) -> tuple[int, int]:
    """The rows of one piece: the page is curved, so its words stand a little above or below their row."""
    start, stop = max(row[0] - 4, 0), row[1] + 4
    profile = dark[start:stop, columns[0] : columns[1]].mean(1)
    first, last = max(runs(profile > 0.12 * profile.max()), key=lambda run: profile[run[0] : run[1]].sum())
    return start + first, start + last


def crop(page: Image.Image, row: tuple[int, int], columns: tuple[int, int]) -> np.ndarray:
    """The piece with a margin, `[h <= 64, w <= 512, 3]` uint8."""
    left, upper = max(columns[0] - MARGIN, 0), max(row[0] - MARGIN, 0)
    box = (left, upper, min(columns[1] + MARGIN, page.width), min(row[1] + MARGIN, page.height))
    return to_height(page.crop(box).convert("RGB"), longest=WIDTH)
