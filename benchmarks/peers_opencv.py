"""The same work as OpenCV calls, one picture at a time, in the fastest form that we know.

Each peer is `(params, image, out) -> None`. `params` is what jaxkit drew for the picture, as NumPy values, so OpenCV
gets its random numbers for free; `out` is the picture's place in the batch, so nothing is copied to collect results.
Grey pictures come as `[H, W]`.
"""

import functools
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks import opencv_pixels as pixels
from benchmarks import opencv_warps as warps

Array = np.ndarray


def line_chain(params: tuple, image: Array, out: Array, *, read: Callable = warps.fused_warp) -> None:
    moves, growth, sigma, levels, grain = params
    read(moves, image, out, 255)
    pixels.stroke_width(growth, out, out)
    pixels.blur(sigma, out, out, radius=4)
    pixels.brightness_contrast(levels, out, out)
    pixels.noise(grain, out, out)


def pointwise_chain(params: tuple, image: Array, out: Array) -> None:
    hit, levels, grain = params
    if hit:
        pixels.grayscale(hit, image, out)
    pixels.tone(levels, out if hit else image, out)
    pixels.noise(grain, out, out)


PEERS: dict[str, Callable[..., None]] = {
    "rotate": warps.rotate,
    "scale": warps.scale,
    "shear": warps.shear,
    "translate": warps.translate,
    "perspective": warps.perspective,
    "elastic": warps.elastic,
    "fused_warp": warps.fused_warp,
    "curve": warps.curve,
    "resize": warps.resize,
    "resize_antialias": warps.resize_area,
    "flip": warps.flip,
    "quarter_turn": warps.quarter_turn,
    "random_crop": warps.random_crop,
    "center_crop": warps.center_crop,
    "pad_to": warps.pad_to,
    "brightness_contrast": pixels.brightness_contrast,
    "gamma": pixels.gamma,
    "invert": pixels.invert,
    "tone": pixels.tone,
    "grayscale": pixels.grayscale,
    "gaussian_blur": functools.partial(pixels.blur, radius=5),
    "gaussian_noise": pixels.noise,
    "stroke_width": pixels.stroke_width,
    "line_chain": line_chain,
    "line_chain, warp by warp": functools.partial(line_chain, read=warps.three_warps),
    "pointwise_chain": pointwise_chain,
    "geometry_chain": warps.turned_window,
}

# Other numbers than jaxkit's for the same draws: another interpolation of the field, another filter, other noise.
UNLIKE = {"elastic", "fused_warp", "resize_antialias", "gaussian_noise", "line_chain", "pointwise_chain"}


def loop(name: str, params: Sequence, images: Array, shape: tuple[int, ...]) -> Callable[[], Array]:
    """A call that makes the batch `shape` from `images` `[B, H, W, C]`, picture by picture."""
    peer, out = PEERS[name], np.empty(shape, images.dtype)
    flat = lambda batch: batch[..., 0] if batch.shape[-1] == 1 else batch  # noqa: E731

    def run() -> Array:
        for own, image, target in zip(params, flat(images), flat(out), strict=True):
            peer(own, image, target)
        return out

    return run
