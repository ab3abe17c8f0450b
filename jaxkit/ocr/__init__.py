"""What happens to text on its way to the camera: ink, and the shape of the line."""

from jaxkit.ocr.ink import stroke_width
from jaxkit.ocr.line import curve

__all__ = ["curve", "stroke_width"]
