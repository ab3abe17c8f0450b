"""Crops in a grid with the classes that a network sees in them."""

import numpy as np
from PIL import Image, ImageDraw

COLUMNS = 4
TILE = 112
INK, PAPER = (255, 255, 255), (0, 0, 0)


def grid(pictures: np.ndarray, classes: np.ndarray | None = None) -> np.ndarray:
    """`[rows * 112, 448, 3]` uint8 of pictures `[N, 224, 224, 3]` uint8, each with its class `[N]`."""
    rows = -(-len(pictures) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * TILE, rows * TILE), INK)
    pen = ImageDraw.Draw(sheet)
    for index, picture in enumerate(pictures):
        left, top = index % COLUMNS * TILE, index // COLUMNS * TILE
        sheet.paste(Image.fromarray(picture).resize((TILE, TILE)), (left, top))
        if classes is not None:
            pen.rectangle((left, top, left + 28, top + 14), fill=PAPER)
            pen.text((left + 3, top + 1), str(classes[index]), fill=INK)
    return np.asarray(sheet)
