"""Warps as OpenCV calls on one picture. Each is `(params, image, out) -> None`, as in `peers_opencv`."""

import functools
import math

import cv2
import numpy as np

Array = np.ndarray


def centre(image: Array) -> tuple[float, float]:
    return (image.shape[1] - 1) / 2, (image.shape[0] - 1) / 2


@functools.cache
def grid(height: int, width: int) -> Array:
    """Places `[H, W, 2]` (x, y) of all pixels."""
    y, x = np.mgrid[:height, :width].astype(np.float32)
    return np.stack([x, y], -1)


def read_affine(image: Array, matrix: Array, out: Array, fill: int = 0) -> None:
    cv2.warpAffine(image, matrix, out.shape[1::-1], dst=out, flags=cv2.INTER_LINEAR, borderValue=(fill,) * 4)


def rotate(params: tuple, image: Array, out: Array) -> None:
    read_affine(image, cv2.getRotationMatrix2D(centre(image), float(params[0]), 1.0), out)


def scale(params: tuple, image: Array, out: Array) -> None:
    read_affine(image, cv2.getRotationMatrix2D(centre(image), 0.0, 1.0 + float(params[0])), out)


def shear(params: tuple, image: Array, out: Array) -> None:
    slope = math.tan(math.radians(params[0]))
    read_affine(image, np.array([[1.0, -slope, slope * centre(image)[1]], [0.0, 1.0, 0.0]]), out)


def translate(params: tuple, image: Array, out: Array) -> None:
    x, y = params[0]
    read_affine(image, np.array([[1.0, 0.0, x * image.shape[1]], [0.0, 1.0, y * image.shape[0]]]), out)


def homography(shifts: Array, image: Array) -> Array:
    height, width = image.shape[:2]
    corners = np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], np.float32)
    return cv2.getPerspectiveTransform(corners, corners + shifts * np.array([width, height], np.float32))


def perspective(params: tuple, image: Array, out: Array) -> None:
    matrix = homography(params[0], image)
    cv2.warpPerspective(image, matrix, out.shape[1::-1], dst=out, flags=cv2.INTER_LINEAR)


def displaced(nodes: Array, height: int, width: int) -> Array:
    """A coarse field enlarged by bicubic `resize` and added to the places of pixels: not jaxkit's B-spline."""
    field = cv2.resize(nodes, (width, height), interpolation=cv2.INTER_CUBIC)
    return cv2.add(field, grid(height, width), dst=field)


def read_map(image: Array, places: Array, out: Array, fill: int = 0) -> None:
    cv2.remap(image, places, None, cv2.INTER_LINEAR, dst=out, borderValue=(fill,) * 4)


def elastic(params: tuple, image: Array, out: Array) -> None:
    read_map(image, displaced(params[0], *image.shape[:2]), out)


def fused_warp(params: tuple, image: Array, out: Array, fill: int = 0) -> None:
    """One `remap`: the displaced places go back through both matrices at once."""
    degrees, shifts, nodes = params
    turn = np.vstack([cv2.getRotationMatrix2D(centre(image), float(degrees), 1.0), [0, 0, 1]])
    back = np.linalg.inv(homography(shifts, image) @ turn)
    places = displaced(nodes, *image.shape[:2])
    read_map(image, cv2.perspectiveTransform(places, back, dst=places), out, fill)


def three_warps(params: tuple, image: Array, out: Array, fill: int = 0) -> None:
    """A call after the other, which reads the picture three times."""
    degrees, shifts, nodes = params
    size, border = image.shape[1::-1], (fill,) * 4
    turn = cv2.getRotationMatrix2D(centre(image), float(degrees), 1.0)
    turned = cv2.warpAffine(image, turn, size, flags=cv2.INTER_LINEAR, borderValue=border)
    tilted = cv2.warpPerspective(turned, homography(shifts, image), size, flags=cv2.INTER_LINEAR, borderValue=border)
    read_map(tilted, displaced(nodes, *image.shape[:2]), out, fill)


def curve(params: tuple, image: Array, out: Array) -> None:
    height, width = image.shape[:2]
    along = (np.arange(width, dtype=np.float32) + 0.5) / width
    places = grid(height, width).copy()
    places[..., 1] += params[0][0] * height * 4 * along * (1 - along)
    read_map(image, places, out)


def resize(params: tuple, image: Array, out: Array) -> None:
    cv2.resize(image, out.shape[1::-1], dst=out, interpolation=cv2.INTER_LINEAR)


def resize_area(params: tuple, image: Array, out: Array) -> None:
    cv2.resize(image, out.shape[1::-1], dst=out, interpolation=cv2.INTER_AREA)


def flip(params: tuple, image: Array, out: Array) -> None:
    horizontal, vertical = params[0]
    if not (horizontal or vertical):
        out[:] = image
        return
    cv2.flip(image, -1 if horizontal and vertical else int(horizontal), dst=out)


def quarter_turn(params: tuple, image: Array, out: Array) -> None:
    cv2.rotate(image, cv2.ROTATE_90_COUNTERCLOCKWISE, dst=out)


def corner(place: Array, image: Array, out: Array) -> tuple[int, int]:
    """The top and left of a crop from two fractions of the room for it."""
    room = [image.shape[axis] - out.shape[axis] for axis in (0, 1)]
    top, left = (min(int(share * (free + 1)), free) for share, free in zip(place, room, strict=True))
    return top, left


def random_crop(params: tuple, image: Array, out: Array) -> None:
    cut(image, *corner(params[0], image, out), out)


def center_crop(params: tuple, image: Array, out: Array) -> None:
    cut(image, *((image.shape[axis] - out.shape[axis]) // 2 for axis in (0, 1)), out)


def cut(image: Array, top: int, left: int, out: Array) -> None:
    out[:] = image[top : top + out.shape[0], left : left + out.shape[1]]


def pad_to(params: tuple, image: Array, out: Array) -> None:
    down, right = out.shape[0] - image.shape[0], out.shape[1] - image.shape[1]
    cv2.copyMakeBorder(image, 0, down, 0, right, cv2.BORDER_CONSTANT, dst=out, value=0)


def turned_window(params: tuple, image: Array, out: Array) -> None:
    """Rotation, zoom, shift, window and mirror in one matrix."""
    degrees, excess, (x, y), place, hits = params
    matrix = cv2.getRotationMatrix2D(centre(image), float(degrees), 1.0 + float(excess))
    top, left = corner(place, image, out)
    matrix[:, 2] += x * image.shape[1] - left, y * image.shape[0] - top
    if hits[0]:
        matrix[0] = -matrix[0]
        matrix[0, 2] += out.shape[1] - 1
    read_affine(image, matrix, out)
