"""Changing pixels where they are: tone, colour, blur, noise. Shapes and labels stay as they were."""

from jaxkit.image.blur import gaussian_blur
from jaxkit.image.colour import grayscale
from jaxkit.image.noise import gaussian_noise
from jaxkit.image.tone import Tone, brightness_contrast, gamma, invert, pointwise, to_uint8, tone

__all__ = [
    "Tone",
    "brightness_contrast",
    "gamma",
    "gaussian_blur",
    "gaussian_noise",
    "grayscale",
    "invert",
    "pointwise",
    "to_uint8",
    "tone",
]
