"""The nearest AlbumentationsX pipelines, used through the public API only, with its own draws of the same ranges.

Where the library has no exact counterpart the nearest one stands: corner moves of `Perspective` are normal, not
uniform; `Morphological` takes the whole 3 x 3 filter, where jaxkit blends a fraction; `ElasticTransform` allows on
lines a displacement of up to 1.8 pixels.
"""

import os
from collections.abc import Callable

os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")

import albumentations as A  # noqa: E402
import cv2  # noqa: E402
import numpy as np  # noqa: E402

DEGREES, STRENGTH, BEND = (-5.0, 5.0), (0.0, 0.06), 3.0
TONES = {"brightness_range": (-0.2, 0.2), "contrast_range": (-0.2, 0.2)}
STEEPEST = 0.0285  # The library refuses larger displacements for a lattice of 4 x 16, as fractions of the shorter side.


def elastic(height: int, width: int, pixels: float = BEND, fill: float = 0) -> A.BasicTransform:
    most = min(pixels / (min(height, width) - 1), STEEPEST)
    return A.ElasticTransform(displacement_range=(0.0, most), control_grid_shape=(4, 16), fill=fill, p=1)


def warps(height: int, width: int, degrees=DEGREES, strength=STRENGTH, pixels=BEND, fill: float = 0) -> list:
    turn = A.Rotate(angle_range=degrees, fill=fill, p=1)
    return [turn, A.Perspective(scale=strength, fill=fill, p=1), elastic(height, width, pixels, fill)]


def tones(p: float) -> list:
    return [A.RandomBrightnessContrast(**TONES, p=1), A.RandomGamma(gamma_range=(70, 150), p=1), A.InvertImg(p=p)]


def blur(high: float, side: int) -> A.BasicTransform:
    return A.GaussianBlur(sigma_range=(0.0, high), blur_range=(side, side), p=1)


def noise() -> A.BasicTransform:
    return A.GaussNoise(std_range=(0.0, 0.05), per_channel=True, p=1)


def stroke() -> A.BasicTransform:
    return A.Morphological(scale=(3, 3), operation="erosion", p=1)


def lines(height: int, width: int) -> list:
    tone = A.RandomBrightnessContrast(**TONES, p=1)
    return [*warps(height, width, (-3.0, 3.0), (0.0, 0.04), 2.0, 255), stroke(), blur(1.2, 9), tone, noise()]


def window(height: int, width: int) -> list:
    move = A.Affine(rotate=DEGREES, scale=(0.9, 1.1), translate_percent=(-0.05, 0.05), p=1)
    crop = A.RandomCrop(height=round(height * 7 / 8), width=round(width * 7 / 8))
    return [move, crop, A.HorizontalFlip(p=0.5)]


def sized(factory: Callable, share: float, **options) -> Callable:
    return lambda h, w: [factory(height=round(h * share), width=round(w * share), **options)]


def padded(height: int, width: int) -> list:
    return [A.PadIfNeeded(min_height=round(height * 1.25), min_width=round(width * 1.25), position="top_left")]


PEERS: dict[str, Callable[[int, int], list]] = {
    "rotate": lambda h, w: [A.Rotate(angle_range=DEGREES, p=1)],
    "scale": lambda h, w: [A.Affine(scale=(0.9, 1.1), p=1)],
    "shear": lambda h, w: [A.Affine(shear={"x": (-8.0, 8.0), "y": (0.0, 0.0)}, p=1)],
    "translate": lambda h, w: [A.Affine(translate_percent=(-0.05, 0.05), p=1)],
    "perspective": lambda h, w: [A.Perspective(scale=STRENGTH, p=1)],
    "elastic": lambda h, w: [elastic(h, w)],
    "fused_warp": warps,
    "resize": sized(A.Resize, 0.75, interpolation=cv2.INTER_LINEAR),
    "resize_antialias": sized(A.Resize, 0.5, interpolation=cv2.INTER_AREA),
    "flip": lambda h, w: [A.HorizontalFlip(p=1)],
    "quarter_turn": lambda h, w: [A.RandomRotate90(group_element="r90", p=1)],
    "random_crop": sized(A.RandomCrop, 0.75),
    "center_crop": sized(A.CenterCrop, 0.75),
    "pad_to": padded,
    "brightness_contrast": lambda h, w: [A.RandomBrightnessContrast(**TONES, p=1)],
    "gamma": lambda h, w: [A.RandomGamma(gamma_range=(70, 150), p=1)],
    "invert": lambda h, w: [A.InvertImg(p=1)],
    "tone": lambda h, w: tones(0.5),
    "grayscale": lambda h, w: [A.ToGray(p=1)],
    "gaussian_blur": lambda h, w: [blur(1.5, 11)],
    "gaussian_noise": lambda h, w: [noise()],
    "stroke_width": lambda h, w: [stroke()],
    "line_chain": lines,
    "pointwise_chain": lambda h, w: [A.ToGray(p=0.2), *tones(0.5), noise()],
    "geometry_chain": window,
}


def loop(name: str, images: np.ndarray, shape: tuple[int, ...]) -> Callable[[], np.ndarray]:
    """A call that makes the batch `shape` from `images` `[B, H, W, C]`, picture by picture, and collects it."""
    pipeline = A.Compose(PEERS[name](*images.shape[1:3]), telemetry=False, seed=0)
    out = np.empty(shape, images.dtype)

    def run() -> np.ndarray:
        for image, target in zip(images, out, strict=True):
            target[:] = pipeline(image=image)["image"]
        return out

    return run
