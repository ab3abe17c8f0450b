"""The same augmentation with jaxkit: a recipe for one line, compiled once for batches of lines.

    lines = Sample(image=images, valid=valid)  # [B, 64, 512, 3] uint8 and [B, 2] int32 (height, width)
    lines = AUGMENT(key, ids, lines)  # ids [B] number the data set; fold the epoch into the key

`slow.py` holds the program that it replaces.
"""

from jaxkit import batch, chain
from jaxkit.image import brightness_contrast, gaussian_blur, gaussian_noise, tone
from jaxkit.ocr import stroke_width
from jaxkit.warp import elastic, fuse, perspective, rotate

WHITE = 255

LINE = chain(
    fuse(
        rotate(degrees=(-3.0, 3.0)),
        perspective(strength=(0.0, 0.04)),
        elastic(pixels=(0.0, 2.0), grid=(4, 16)),
        fill=WHITE,
    ),
    stroke_width(pixels=(-0.7, 0.7), polarity="dark"),
    gaussian_blur(sigma=(0.0, 1.2)),
    tone(brightness_contrast(brightness=(-0.2, 0.2), contrast=(0.8, 1.2))),
    gaussian_noise(std=(0.0, 0.05)),
)

AUGMENT = batch(LINE)
