"""Generated lines with known text: words of made-up syllables in the fonts that matplotlib ships, on mild paper."""

from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from .lines import HEIGHT, WIDTH, Line

SANS = ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSansMono", "cmss10", "cmtt10")
SERIF = ("DejaVuSerif", "DejaVuSerif-Italic", "DejaVuSerif-Bold", "cmr10", "STIXGeneral", "STIXGeneralItalic")
FONTS = (*SANS, *SERIF, "STIXGeneralBol")
ONSETS = ("b", "br", "c", "ch", "d", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "qu", "r", "s", "st", "t", "v", "w")
VOWELS = ("a", "e", "i", "o", "u", "y", "ea", "ie", "ou")
CODAS = ("", "", "", "n", "r", "s", "t", "l", "m", "x", "nd", "ck", "z")
ENDINGS = ("", "", "", "", ",", ".", "-")
MARGIN = 8


def rendered(count: int, *, seed: int = 0) -> list[Line]:
    """`count` lines `[64, w <= 512, 3]` with their text; the same seed gives the same pixels."""
    return [render(np.random.default_rng((seed, index)), f"rendered line {index + 1}") for index in range(count)]


def render(rng: np.random.Generator, name: str) -> Line:
    """One line: words are added while they fit, in one font, size, ink and paper."""
    font = load(str(rng.choice(FONTS)), int(rng.integers(30, 44)))
    space = round(float(rng.uniform(0.25, 0.4)) * font.size)
    words, right = [], MARGIN
    while len(words) < 5:
        candidate = word(rng)
        width = round(font.getlength(candidate))
        if words and right + width + MARGIN > WIDTH:
            break
        words.append((right, candidate))
        right += width + space
    cover = draw(font, words, min(right - space + MARGIN, WIDTH), int(rng.integers(43, 49)))
    return Line(name, print_on_paper(rng, cover), " ".join(text for _, text in words))


@cache
def load(name: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{name}.ttf"), size)


def word(rng: np.random.Generator) -> str:
    """A number, or one to three syllables, at times capitalised or with a mark behind it."""
    if rng.random() < 0.1:
        return str(rng.integers(1, 2100))
    syllables = ["".join(str(rng.choice(part)) for part in (ONSETS, VOWELS, CODAS)) for _ in range(rng.integers(1, 4))]
    text = "".join(syllables)
    return (text.capitalize() if rng.random() < 0.25 else text) + str(rng.choice(ENDINGS))


def draw(font: ImageFont.FreeTypeFont, words: list[tuple[int, str]], width: int, baseline: int) -> np.ndarray:
    """Ink cover `[64, width, 1]` in [0, 1], antialiased; words stand on one baseline."""
    canvas = Image.new("L", (width, HEIGHT), 0)
    pen = ImageDraw.Draw(canvas)
    for left, text in words:
        pen.text((left, baseline), text, fill=255, font=font, anchor="ls")
    return np.asarray(canvas, np.float64)[..., None] / 255


def print_on_paper(rng: np.random.Generator, cover: np.ndarray) -> np.ndarray:
    """Blends ink over paper with slow stains, fine grain and a tint: `[h, w, 3]` uint8."""
    height, width, _ = cover.shape
    stains = Image.fromarray(rng.standard_normal((3, 2 + width // 48)).astype(np.float32))
    slow = np.asarray(stains.resize((width, height), Image.Resampling.BICUBIC), np.float64)
    grain = rng.standard_normal((height, width))
    tint = rng.uniform(225, 252) - np.array([0.0, 1.0, 2.5]) * rng.uniform(0, 6)
    paper = tint + (4 * slow + 2 * grain)[..., None]
    shade = rng.uniform(10, 70) + rng.uniform(-8, 8, 3)
    return np.rint(np.clip(paper * (1 - cover) + shade * cover, 0, 255)).astype(np.uint8)
