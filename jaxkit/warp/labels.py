"""Points, polygons and boxes through coordinate stages."""

import jax
import jax.numpy as jnp

Array = jax.Array
EDGE = 0.5


def push_points(stages: list, points: Array | None) -> Array | None:
    """Moves `[..., 2]` float32 (x, y) in the pixel-centre frame through `stages`, first to last."""
    if points is None:
        return None
    x, y = points[..., 0], points[..., 1]
    for stage in stages:
        x, y = stage.push(x, y)
    return jnp.stack(jnp.broadcast_arrays(x, y), -1)


def push_boxes(stages: list, boxes: Array | None) -> Array | None:
    """Moves `[N, 4]` float32 (x0, y0, x1, y1) in the edge frame: the upright box around the moved outline.

    The outline is followed at its corners and the middles of its sides. Boxes may leave the picture: they are not
    clipped.
    """
    if boxes is None:
        return None
    outline = _outline(boxes)
    start = edge_to_centre(outline)
    # Adding the way that was moved, instead of converting back, returns boxes that stay bit for bit.
    moved = outline + (push_points(stages, start) - start)
    return jnp.concatenate([moved.min(-2), moved.max(-2)], -1)


def edge_to_centre(positions: Array) -> Array:
    """From the edge frame (picture spans [0, W]) to the pixel-centre frame (spans [-0.5, W - 0.5])."""
    return positions - EDGE


def _outline(boxes: Array) -> Array:
    x0, y0, x1, y1 = (boxes[..., i] for i in range(4))
    xm, ym = (x0 + x1) / 2, (y0 + y1) / 2
    around = [(x0, y0), (xm, y0), (x1, y0), (x1, ym), (x1, y1), (xm, y1), (x0, y1), (x0, ym)]
    return jnp.stack([jnp.stack(corner, -1) for corner in around], -2)
