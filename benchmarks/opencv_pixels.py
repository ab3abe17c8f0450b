"""Tone, blur, noise and strokes as OpenCV calls on one picture. Each is `(params, image, out) -> None`."""

import functools

import cv2
import numpy as np

Array = np.ndarray
WINDOW = np.ones((3, 3), np.uint8)


def rounded(levels: Array) -> Array:
    """A table of 256 entries from levels on the scale of 1."""
    return np.rint(np.clip(levels, 0, 1) * 255).astype(np.uint8)


def identity() -> Array:
    return np.arange(256, dtype=np.float32) / 255


def contrasted(levels: Array, shift: float, excess: float) -> Array:
    return (levels - 0.5) * (1 + excess) + 0.5 + shift


def brightness_contrast(params: tuple, image: Array, out: Array) -> None:
    shift, excess = params[0]
    if image.dtype == np.uint8:
        cv2.LUT(image, rounded(contrasted(identity(), shift, excess)), dst=out)
        return
    cv2.addWeighted(image, float(1 + excess), image, 0, float(shift - 0.5 * excess), dst=out)
    np.clip(out, 0, 1, out=out)


def gamma(params: tuple, image: Array, out: Array) -> None:
    cv2.LUT(image, rounded(identity() ** (1 + params[0])), dst=out)


def invert(params: tuple, image: Array, out: Array) -> None:
    cv2.bitwise_not(image, dst=out)


def tone(params: tuple, image: Array, out: Array) -> None:
    (shift, excess), power, negative = params
    table = rounded(contrasted(identity(), shift, excess))
    table = rounded((table / np.float32(255)) ** (1 + power))
    cv2.LUT(image, 255 - table if negative else table, dst=out)


def grayscale(params: bool, image: Array, out: Array) -> None:
    if not params:
        out[:] = image
        return
    cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB, dst=out)


def blur(sigma: float, image: Array, out: Array, *, radius: int) -> None:
    side = 2 * radius + 1
    cv2.GaussianBlur(image, (side, side), max(float(sigma), 1e-3), dst=out, borderType=cv2.BORDER_REFLECT_101)


@functools.cache
def scratch(shape: tuple[int, ...], dtype: str) -> Array:
    return np.empty(shape, dtype)


def noise(params: tuple, image: Array, out: Array) -> None:
    """Normal numbers of OpenCV's generator, as whole levels for uint8, added with saturation."""
    std = float(params[0])
    if image.dtype == np.uint8:
        field = cv2.randn(scratch(image.shape, "int16"), 0, 255 * std)
        cv2.add(image, field, dst=out, dtype=cv2.CV_8U)
        return
    cv2.add(image, cv2.randn(scratch(image.shape, "float32"), 0, std), dst=out)
    np.clip(out, 0, 1, out=out)


def stroke_width(growth: float, image: Array, out: Array) -> None:
    share = abs(float(growth))
    filtered = (cv2.erode if growth > 0 else cv2.dilate)(image, WINDOW)
    cv2.addWeighted(image, 1 - share, filtered, share, 0, dst=out)
