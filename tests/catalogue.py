"""One line per op. Every op of `warp`, `image` and `ocr` must be here (`test_api.py`) and pass `test_contract.py`.

The pictures of the contract are 24 x 40; ranges are wide enough to matter there.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

from jaxkit import Op, chain, image, maybe, ocr, one_of, warp


class Entry(NamedTuple):
    """What the contract needs to know about an op.

    Attributes:
      name: of the test.
      recipe: builds the op; `recipe.func` is the public factory.
      kind: `pixels` leaves labels as they are, `moves` moves labels along and keeps the size, `resizes` changes it,
        `mixed` is a chain of several kinds.
      levels: by how many levels of 255 the uint8 result may differ from the floating one.
      exact: whole pixels are moved or chosen, so that all comparisons are bit for bit.
      random: whether different keys give different results.
      unpadded: builds the op that does to the valid 18 x 30 pixels alone what `recipe` does to a padded picture.
    """

    name: str
    recipe: Callable[[], Op]
    kind: str
    levels: int = 1
    exact: bool = False
    random: bool = True
    unpadded: Callable[[], Op] | None = None


use = functools.partial

CATALOGUE = (
    Entry("rotate", use(warp.rotate, degrees=(-20.0, 20.0)), "moves"),
    Entry("scale", use(warp.scale, factor=(0.8, 1.25)), "moves"),
    Entry("shear", use(warp.shear, degrees=(-15.0, 15.0)), "moves"),
    Entry("translate", use(warp.translate, fraction=(-0.2, 0.2)), "moves"),
    Entry("flip", use(warp.flip, horizontal=0.5, vertical=0.5), "moves", levels=0, exact=True),
    Entry("quarter_turn", use(warp.quarter_turn), "resizes", levels=0, exact=True, random=False),
    Entry("half_turn", use(warp.quarter_turn, turns=2), "moves", levels=0, exact=True, random=False),
    Entry("perspective", use(warp.perspective, strength=(0.0, 0.1)), "moves"),
    Entry("elastic", use(warp.elastic, pixels=(0.0, 2.0), grid=(4, 6)), "moves"),
    Entry("random_crop", use(warp.random_crop, size=(16, 24)), "resizes", levels=0, exact=True),
    Entry("center_crop", use(warp.center_crop, size=(16, 24)), "resizes", levels=0, exact=True, random=False),
    Entry("pad_to", use(warp.pad_to, size=(32, 48)), "resizes", levels=0, exact=True, random=False),
    Entry(
        "resize", use(warp.resize, size=(16, 60)), "resizes", random=False, unpadded=use(warp.resize, size=(12, 45))
    ),
    Entry(
        "resize_plain",
        use(warp.resize, size=(16, 60), antialias=False),
        "resizes",
        random=False,
        unpadded=use(warp.resize, size=(12, 45), antialias=False),
    ),
    Entry("fuse", use(warp.fuse, warp.elastic(pixels=(0, 1)), warp.rotate(), border="edge"), "moves"),
    Entry("brightness_contrast", use(image.brightness_contrast), "pixels"),
    Entry("gamma", use(image.gamma), "pixels"),
    Entry("invert", use(image.invert), "pixels", levels=0),
    Entry("grayscale", use(image.grayscale, p=0.5), "pixels"),
    Entry("tone", use(image.tone, image.gamma(), image.brightness_contrast(), image.invert()), "pixels", levels=3),
    Entry("gaussian_blur", use(image.gaussian_blur), "pixels"),
    Entry("gaussian_noise", use(image.gaussian_noise), "pixels"),
    Entry("stroke_dark", use(ocr.stroke_width, pixels=(-1.5, 1.5)), "pixels"),
    Entry("stroke_light", use(ocr.stroke_width, pixels=(-1.5, 1.5), polarity="light"), "pixels"),
    Entry("curve_arc", use(ocr.curve), "moves"),
    Entry("curve_sine", use(ocr.curve, kind="sine"), "moves"),
)

COMBINED = (
    Entry("maybe_gated", use(maybe, image.gaussian_blur()), "pixels"),
    Entry("maybe_compacted", use(maybe, warp.quarter_turn(turns=2), 0.4), "moves", levels=0, exact=True),
    Entry("one_of", use(one_of, warp.quarter_turn(turns=2), image.gaussian_blur(), warp.flip()), "moves"),
    Entry(
        "line_chain",
        use(
            chain,
            warp.fuse(warp.rotate(), warp.shear(), border="reflect101"),
            image.gaussian_blur(),
            image.tone(image.gamma(), image.brightness_contrast()),
            image.gaussian_noise(),
        ),
        "mixed",
        levels=4,
    ),
)

ALL = CATALOGUE + COMBINED
