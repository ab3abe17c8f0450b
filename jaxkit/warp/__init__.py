"""Moving pixels: coordinate stages compose, and each `fuse` reads the picture once.

Everything that belongs to a sample moves along: mask, points, boxes, quads and the true extent. uint8 stays uint8.
"""

from jaxkit.warp.affine import flip, perspective, quarter_turn, rotate, scale, shear, translate
from jaxkit.warp.bend import elastic
from jaxkit.warp.border import BORDERS, fold
from jaxkit.warp.crop import center_crop, pad_to, random_crop
from jaxkit.warp.frame import Frame
from jaxkit.warp.geometry import Edge, Warp, fuse, geometric
from jaxkit.warp.lattice import Lattice
from jaxkit.warp.resize import resize
from jaxkit.warp.stages import Affine, Displacement, Homography, Stage

__all__ = [
    "BORDERS",
    "Affine",
    "Displacement",
    "Edge",
    "Frame",
    "Homography",
    "Lattice",
    "Stage",
    "Warp",
    "center_crop",
    "elastic",
    "flip",
    "fold",
    "fuse",
    "geometric",
    "pad_to",
    "perspective",
    "quarter_turn",
    "random_crop",
    "resize",
    "rotate",
    "scale",
    "shear",
    "translate",
]
