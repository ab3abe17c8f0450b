"""The best that NumPy alone gives: the same steps on whole images, float32, every table made once."""

from functools import cache

import numpy as np

from . import slow

PAPER = 255


def augment(rng: np.random.Generator, image: np.ndarray) -> np.ndarray:
    """An augmented copy of `image` `[h, w, 3]` uint8, with the draws of `slow.augment`."""
    return apply(slow.draw(rng), image)


def apply(params: slow.Draw, image: np.ndarray, *, field: np.ndarray | None = None) -> np.ndarray:
    image = warp(image, params.degrees, params.corners, params.grid)
    image = blur(change_stroke(image, params.stroke), params.sigma)
    image = tone_table(params.brightness, params.contrast)[image]
    field = np.random.default_rng(params.seed).standard_normal(image.shape, np.float32) if field is None else field
    return to_uint8(image + np.float32(255 * params.std) * field)


def to_uint8(image: np.ndarray) -> np.ndarray:
    return np.rint(image, out=image).clip(0, 255, out=image).astype(np.uint8)


def warp(image: np.ndarray, degrees: float, corners: np.ndarray, grid: np.ndarray) -> np.ndarray:
    return read(image, *source(image.shape[0], image.shape[1], degrees, corners, grid))


def source(height: int, width: int, degrees: float, corners: np.ndarray, grid: np.ndarray) -> tuple:
    """Where every output pixel looks: x and y `[h, w]` float32."""
    rows, columns = lattice(height, grid.shape[0]), lattice(width, grid.shape[1])
    x, y = (rows @ grid[..., i].astype(np.float32) @ columns.T for i in (0, 1))
    x += np.arange(width, dtype=np.float32)
    y += np.arange(height, dtype=np.float32)[:, None]
    back = np.linalg.inv(slow.perspective(corners, height, width) @ slow.rotation(degrees, height, width))
    a, b, c = (row[0] * x + row[1] * y + row[2] for row in (back / back[2, 2]).astype(np.float32))
    return a / c, b / c


@cache
def lattice(length: int, nodes: int) -> np.ndarray:
    """`[length, nodes]` float32: the weight of every node of the elastic lattice at every pixel of an axis."""
    weights = np.zeros((length, nodes), np.float32)
    for position, row in enumerate(weights):
        taps, values = slow.spline(position, length, nodes)
        row[taps] = values
    return weights


def read(image: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Bilinear, from a copy with a frame of paper; coordinates far outside are moved onto the frame."""
    height, width = image.shape[:2]
    framed = np.full((height + 3, width + 3, 3), PAPER, np.uint8)
    framed[1 : height + 1, 1 : width + 1] = image
    x, y = np.clip(x, -1, width) + 1, np.clip(y, -1, height) + 1
    left, top = x.astype(np.int32), y.astype(np.int32)
    fx, fy = (x - left)[..., None], (y - top)[..., None]
    pixels, first, step = framed.reshape(-1, 3), top * (width + 3) + left, width + 3
    a, b, c, d = (pixels.take(first + offset, axis=0).astype(np.float32) for offset in (0, 1, step, step + 1))
    upper, lower = a + fx * (b - a), c + fx * (d - c)
    return to_uint8(upper + fy * (lower - upper))


def change_stroke(image: np.ndarray, pixels: float) -> np.ndarray:
    choose = np.minimum if pixels > 0 else np.maximum
    whole = int(abs(pixels))
    part = np.float32(abs(pixels) - whole)
    for _ in range(whole):
        image = neighbourhood(image, choose)
    return to_uint8((1 - part) * image + part * neighbourhood(image, choose)) if part else image


def neighbourhood(image: np.ndarray, choose: np.ufunc) -> np.ndarray:
    """3 x 3 minimum or maximum, one axis after the other."""
    out = image.copy()
    choose(out[1:], image[:-1], out=out[1:])
    choose(out[:-1], image[1:], out=out[:-1])
    rows = out.copy()
    choose(out[:, 1:], rows[:, :-1], out=out[:, 1:])
    choose(out[:, :-1], rows[:, 1:], out=out[:, :-1])
    return out


def blur(image: np.ndarray, sigma: float) -> np.ndarray:
    """Separable; weights that round to nothing are left out, so a small sigma costs little."""
    kernel = slow.gaussian(sigma).astype(np.float32)
    kernel = kernel[kernel > 1e-4 * kernel.max()]
    if len(kernel) == 1:
        return image
    radius = len(kernel) // 2
    padded = np.pad(image, ((radius, radius), (radius, radius), (0, 0)), mode="reflect").astype(np.float32)
    for axis, length in enumerate(image.shape[:2]):
        padded = weighted_sum(padded, kernel, axis, length)
    return to_uint8(padded)


def weighted_sum(image: np.ndarray, kernel: np.ndarray, axis: int, length: int) -> np.ndarray:
    """Symmetric taps are added before they are weighted."""
    radius = len(kernel) // 2
    slices = [image[i : i + length] if axis == 0 else image[:, i : i + length] for i in range(len(kernel))]
    total = slices[radius] * kernel[radius]
    for i in range(radius):
        total += kernel[i] * (slices[i] + slices[-1 - i])
    return total


def tone_table(brightness: float, contrast: float) -> np.ndarray:
    levels = np.arange(256) / 255
    return np.rint(np.clip(255 * ((levels - 0.5) * contrast + 0.5 + brightness), 0, 255)).astype(np.uint8)
