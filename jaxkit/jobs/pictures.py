"""Pictures of any kind as RGB, nothing cut off: for the command line and the ports alike."""

from typing import Any

import numpy as np


def to_rgb(image: Any) -> Any:
    """RGB over white, upright by its EXIF note. 16 bit is scaled by 1/257, float from [0, 1].

    Args:
      image: a `PIL.Image.Image` of any mode.

    Raises:
      ValueError: if its values have no known scale.
    """
    from PIL import Image, ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I") or image.mode == "F":
        return Image.fromarray(deep_to_grey(np.asarray(image))).convert("RGB")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    return image.convert("RGB")


def deep_to_grey(values: np.ndarray) -> np.ndarray:
    """Grey levels of more than 8 bits `[h, w]` as uint8.

    Raises:
      ValueError: where the full scale is not known.
    """
    scale = 1.0 if values.dtype.kind == "f" else 65535.0
    low, high = float(values.min()), float(values.max())
    if not (0 <= low and high <= scale):
        raise ValueError(f"{values.dtype} values from {low:g} to {high:g} have no known scale, save it as 8 or 16 bit")
    return np.rint(values.astype(np.float64) * (255 / scale)).astype(np.uint8)
