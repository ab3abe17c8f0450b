"""What the OCR project had: augmentations written one pixel at a time, on one line at a time.

Rotation, perspective and elastic bending (one map, the picture is read once), stroke width, blur, brightness and
contrast, noise. Images are RGB `[h, w, 3]` uint8 and are rounded to uint8 between the steps, as image libraries do.
With `exact=True` nothing is rounded: that program in float64 is the truth that both sides are measured against.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

DEGREES = (-3.0, 3.0)
STRENGTH = (0.0, 0.04)
PIXELS = (0.0, 2.0)
GRID = (4, 16)
STROKE = (-0.7, 0.7)
SIGMA = (0.0, 1.2)
BRIGHTNESS = (-0.2, 0.2)
CONTRAST = (0.8, 1.2)
STD = (0.0, 0.05)
PAPER = np.full(3, 255.0)


class Draw(NamedTuple):
    """The random choices for one line.

    Attributes:
      degrees: rotation, counter-clockwise as displayed.
      corners: `[4, 2]` moves of the corner pixels (x, y) as fractions of (width, height): top left, top right, bottom
        right, bottom left.
      grid: `[4, 16, 2]` displacements (x, y) in pixels at the nodes of the elastic lattice.
      stroke: pixels by which dark strokes grow on each side; negative thins them.
      sigma: of the blur, in pixels.
      brightness, contrast: offset and factor around mid-grey, on the scale where white is 1.
      std: of the noise, on the same scale.
      seed: of the noise.
    """

    degrees: float
    corners: np.ndarray
    grid: np.ndarray
    stroke: float
    sigma: float
    brightness: float
    contrast: float
    std: float
    seed: int


def augment(rng: np.random.Generator, image: np.ndarray) -> np.ndarray:
    """An augmented copy of `image` `[h, w, 3]` uint8."""
    return apply(draw(rng), image)


def draw(rng: np.random.Generator) -> Draw:
    return Draw(
        degrees=rng.uniform(*DEGREES),
        corners=rng.uniform(*STRENGTH) * rng.uniform(-1, 1, (4, 2)),
        grid=rng.uniform(*PIXELS) * rng.uniform(-1, 1, (*GRID, 2)),
        stroke=rng.uniform(*STROKE),
        sigma=rng.uniform(*SIGMA),
        brightness=rng.uniform(*BRIGHTNESS),
        contrast=rng.uniform(*CONTRAST),
        std=rng.uniform(*STD),
        seed=int(rng.integers(2**32)),
    )


def apply(params: Draw, image: np.ndarray, *, field: np.ndarray | None = None, exact: bool = False) -> np.ndarray:
    """All steps with given choices: uint8, or float64 in [0, 255] if `exact`.

    `field` `[h, w, 3]` replaces the standard normal numbers of the noise, so that another program's can be given.
    """
    finish = clip if exact else to_uint8
    image = finish(warp(image, params.degrees, params.corners, params.grid))
    image = finish(change_stroke(image, params.stroke))
    image = finish(blur_down(image, params.sigma))
    image = finish(blur_across(image, params.sigma))
    image = finish(change_tone(image, params.brightness, params.contrast))
    field = normal_field(params.seed, image.shape) if field is None else field
    return finish(add_noise(image, params.std, field))


def clip(image: np.ndarray) -> np.ndarray:
    return np.clip(image, 0, 255)


def to_uint8(image: np.ndarray) -> np.ndarray:
    return np.rint(np.clip(image, 0, 255)).astype(np.uint8)


def warp(image: np.ndarray, degrees: float, corners: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Rotates, then changes the perspective, then bends: every output pixel looks up where it came from."""
    height, width = image.shape[:2]
    back = np.linalg.inv(perspective(corners, height, width) @ rotation(degrees, height, width))
    out = np.zeros(image.shape)
    for y in range(height):
        for x in range(width):
            dx, dy = displacement(grid, x, y, height, width)
            out[y, x] = read(image, *move(back, x + dx, y + dy))
    return out


def rotation(degrees: float, height: int, width: int) -> np.ndarray:
    """`[3, 3]` matrix of a turn about the middle of the picture, counter-clockwise as displayed (y points down)."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    x, y = (width - 1) / 2, (height - 1) / 2
    return np.array([[cos, sin, x - cos * x - sin * y], [-sin, cos, y + sin * x - cos * y], [0, 0, 1]])


def perspective(corners: np.ndarray, height: int, width: int) -> np.ndarray:
    """`[3, 3]` homography that moves the corner pixels by `corners` times the size of the picture.

    Solves the eight linear equations of the four point pairs (Hartley and Zisserman, section 4.1).
    """
    right, bottom = max(width - 1, 1), max(height - 1, 1)
    before = [(0, 0), (right, 0), (right, bottom), (0, bottom)]
    rows, values = [], []
    for (x, y), (dx, dy) in zip(before, corners, strict=True):
        u, v = x + dx * width, y + dy * height
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return np.append(np.linalg.solve(rows, values), 1).reshape(3, 3)


def move(matrix: np.ndarray, x: float, y: float) -> tuple[float, float]:
    u, v, w = matrix @ (x, y, 1)
    return u / w, v / w


def displacement(grid: np.ndarray, x: int, y: int, height: int, width: int) -> np.ndarray:
    """(dx, dy) at a pixel: a cubic B-spline surface over the lattice of nodes."""
    rows, row_weights = spline(y, height, grid.shape[0])
    columns, column_weights = spline(x, width, grid.shape[1])
    return np.einsum("i,j,ijk->k", row_weights, column_weights, grid[rows, columns])


def spline(position: int, length: int, nodes: int) -> tuple[slice, np.ndarray]:
    """The four nodes around a pixel and their weights; nodes 1 and n - 2 lie on the edges."""
    t = (position + 0.5) / length * (nodes - 3)
    first = int(t)
    t -= first
    weights = [(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3]
    return slice(first, first + 4), np.array(weights) / 6


def read(image: np.ndarray, x: float, y: float) -> np.ndarray:
    """The colour between four pixels (bilinear); what lies outside the picture is white paper."""
    left, top = math.floor(x), math.floor(y)
    fx, fy = x - left, y - top
    upper = (1 - fx) * pixel(image, left, top) + fx * pixel(image, left + 1, top)
    lower = (1 - fx) * pixel(image, left, top + 1) + fx * pixel(image, left + 1, top + 1)
    return (1 - fy) * upper + fy * lower


def pixel(image: np.ndarray, x: int, y: int) -> np.ndarray:
    inside = 0 <= y < image.shape[0] and 0 <= x < image.shape[1]
    return image[y, x] if inside else PAPER


def change_stroke(image: np.ndarray, pixels: float) -> np.ndarray:
    """Grows (or thins) dark strokes by whole 3 x 3 filters and a blend with one more for the fraction."""
    choose = np.min if pixels > 0 else np.max
    whole = int(abs(pixels))
    part = abs(pixels) - whole
    for _ in range(whole):
        image = neighbourhood(image, choose)
    return (1 - part) * image + part * neighbourhood(image, choose) if part else image


def neighbourhood(image: np.ndarray, choose: Callable) -> np.ndarray:
    out = np.zeros_like(image)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            out[y, x] = choose(image[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2], axis=(0, 1))
    return out


def blur_down(image: np.ndarray, sigma: float) -> np.ndarray:
    """Half of a Gaussian blur: every column on its own; the picture is mirrored at its edges."""
    kernel = gaussian(sigma)
    radius = len(kernel) // 2
    padded = np.pad(image, ((radius, radius), (0, 0), (0, 0)), mode="reflect")
    out = np.zeros(image.shape)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            out[y, x] = kernel @ padded[y : y + len(kernel), x]
    return out


def blur_across(image: np.ndarray, sigma: float) -> np.ndarray:
    """The other half: every row on its own."""
    return blur_down(image.swapaxes(0, 1), sigma).swapaxes(0, 1)


def gaussian(sigma: float) -> np.ndarray:
    radius = math.ceil(3 * SIGMA[1])
    weights = np.array([math.exp(-0.5 * (i / max(sigma, 1e-3)) ** 2) for i in range(-radius, radius + 1)])
    return weights / weights.sum()


def change_tone(image: np.ndarray, brightness: float, contrast: float) -> np.ndarray:
    out = np.zeros(image.shape)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            out[y, x] = 255 * ((image[y, x] / 255 - 0.5) * contrast + 0.5 + brightness)
    return out


def normal_field(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def add_noise(image: np.ndarray, std: float, field: np.ndarray) -> np.ndarray:
    out = np.zeros(image.shape)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            out[y, x] = image[y, x] + 255 * std * field[y, x]
    return out
