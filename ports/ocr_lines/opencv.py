"""The same steps as calls of OpenCV, one line at a time: what a training run with worker processes would use."""

import cv2
import numpy as np

from . import slow, vectorised

WHITE = (255, 255, 255)


def augment(rng: np.random.Generator, image: np.ndarray) -> np.ndarray:
    """An augmented copy of `image` `[h, w, 3]` uint8, with the draws of `slow.augment`; the noise is OpenCV's own."""
    return apply(slow.draw(rng), image)


def apply(params: slow.Draw, image: np.ndarray) -> np.ndarray:
    image = warp(image, params.degrees, params.corners, params.grid)
    image = blur(change_stroke(image, params.stroke), params.sigma)
    image = cv2.LUT(image, vectorised.tone_table(params.brightness, params.contrast))
    return add_noise(image, params.std, params.seed)


def warp(image: np.ndarray, degrees: float, corners: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """One `remap` with the composed coordinates."""
    x, y = vectorised.source(image.shape[0], image.shape[1], degrees, corners, grid)
    return cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=WHITE)


def change_stroke(image: np.ndarray, pixels: float) -> np.ndarray:
    change = cv2.erode if pixels > 0 else cv2.dilate  # a minimum filter thickens dark ink
    window = np.ones((3, 3), np.uint8)
    whole = int(abs(pixels))
    part = abs(pixels) - whole
    if whole:
        image = change(image, window, iterations=whole)
    return cv2.addWeighted(image, 1 - part, change(image, window), part, 0) if part else image


def blur(image: np.ndarray, sigma: float) -> np.ndarray:
    if sigma < 0.1:  # the neighbours' weights round to nothing
        return image
    size = 2 * int(np.ceil(4 * sigma)) + 1
    return cv2.GaussianBlur(image, (size, size), sigma, borderType=cv2.BORDER_REFLECT_101)


def add_noise(image: np.ndarray, std: float, seed: int) -> np.ndarray:
    cv2.setRNGSeed(seed & 0x7FFFFFFF)
    noise = cv2.randn(np.empty(image.shape, np.int16), (0, 0, 0), (255 * std,) * 3)
    return cv2.add(image, noise, dtype=cv2.CV_8U)
