"""Several frames as one, for recognisers that read fewer frames."""

import jax.numpy as jnp

from jaxkit.audio.frame_mask import frame_length, masked
from jaxkit.audio.frames import frames
from jaxkit.records import Features


def stack_frames(features: Features, *, size: int = 2, skip: int | None = None) -> Features:
    """Each row holds `size` successive frames, and rows begin `skip` frames apart; an incomplete one is left out.

    Args:
      features: one utterance.
      size: frames in a row.
      skip: frames from one row to the next; None: `size`, so that no frame comes twice. `size=7, skip=6` are the low
        frame rate features of Paraformer, without the frames that it repeats at the ends.

    Returns:
      `[1 + (frames - size) // skip, bins * size]`, the earliest frame first.

    Raises:
      ValueError: if `size` or `skip` is not a positive int.
    """
    skip = size if skip is None else skip
    for name, value in (("size", size), ("skip", skip)):
        if type(value) is not int or value < 1:
            raise ValueError(f"{name} is a number of frames of at least 1, got {value!r}")
    values = masked(features).values
    count, bins = values.shape
    rows = max(0, 1 + (count - size) // skip)
    stacked = frames(values.reshape(-1), width=size * bins, hop=skip * bins, count=rows)
    if features.length is None:
        return features.replace(values=stacked)
    length = jnp.maximum(1 + (frame_length(features) - size) // skip, 0)
    return masked(Features(stacked, length))
