"""Records of one example: what an op takes and returns. Batched, every leaf has one more leading axis."""

import dataclasses
import functools
from typing import Any

import jax

Array = Any


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["image", "mask", "points", "boxes", "quads", "valid"],
    meta_fields=[],
)
@dataclasses.dataclass(frozen=True)
class Sample:
    """A picture and what is known about it. Ops move all fields together.

    Attributes:
      image: `[H, W, C]` RGB or grey, uint8 in [0, 255] or floating in [0, 1].
      mask: `[H, W]` labels of any dtype, read with the nearest neighbour.
      points: `[N, 2]` float32 (x, y), pixel centres at integers: the picture spans [-0.5, W - 0.5].
      boxes: `[N, 4]` float32 (x0, y0, x1, y1) in the edge frame: the picture spans [0, W].
      quads: `[N, 4, 2]` float32 (x, y) corners, in the frame of `points`.
      valid: `[2]` int32 (height, width), the true extent within a padded picture, anchored at the top left.
        Ops treat the example as a picture of just that size; what they leave in the padding is unspecified.
        None: the whole picture is valid, and programs are a little cheaper.
    """

    image: Array
    mask: Array = None
    points: Array = None
    boxes: Array = None
    quads: Array = None
    valid: Array = None

    def replace(self, **changes: Array) -> "Sample":
        """The same sample with some fields exchanged."""
        return dataclasses.replace(self, **changes)


@functools.partial(jax.tree_util.register_dataclass, data_fields=["wave", "length"], meta_fields=["rate"])
@dataclasses.dataclass(frozen=True)
class Clip:
    """A piece of sound.

    Attributes:
      wave: `[T]` float32 in [-1, 1].
      length: int32 scalar, how many leading values of a padded `wave` are valid. None: all.
      rate: sample rate in Hz. Static: another rate is another program.
    """

    wave: Array
    length: Array = None
    rate: int = 16000

    def replace(self, **changes: Array) -> "Clip":
        """The same clip with some fields exchanged."""
        return dataclasses.replace(self, **changes)


@functools.partial(jax.tree_util.register_dataclass, data_fields=["values", "length"], meta_fields=[])
@dataclasses.dataclass(frozen=True)
class Features:
    """What a recogniser reads of a clip: one row per frame.

    Attributes:
      values: `[frames, bins]` float32.
      length: int32 scalar, how many leading frames are valid. None: all.
    """

    values: Array
    length: Array = None

    def replace(self, **changes: Array) -> "Features":
        """The same features with some fields exchanged."""
        return dataclasses.replace(self, **changes)


def extent(sample: Sample) -> tuple[Array, Array]:
    """The true (height, width) of a sample: two ints where the whole picture is valid, else two int32 scalars."""
    if sample.valid is None:
        return sample.image.shape[0], sample.image.shape[1]
    return sample.valid[0], sample.valid[1]
