"""Geometric ops share one `apply`: place the stages, read the pixels once, and move everything else along."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxkit.boundary import member_by_member
from jaxkit.op import Op, joined_draw
from jaxkit.ranges import number, one_of_names
from jaxkit.records import Sample, extent
from jaxkit.warp.border import BORDERS
from jaxkit.warp.frame import Frame
from jaxkit.warp.labels import push_boxes, push_points
from jaxkit.warp.lattice import Lattice
from jaxkit.warp.read import move_known, read_bilinear, read_lattice, read_nearest
from jaxkit.warp.stages import Stage

Array = jax.Array
OUTSIDE = -(2.0**20)
Move = Callable[[Any, Frame], tuple[Stage, Frame]]


class Edge(NamedTuple):
    """What a read finds beyond the picture."""

    border: str = "constant"
    fill: float = 0.0
    fill_mask: float = 0.0


@dataclasses.dataclass(frozen=True)
class Warp:
    """The `apply` of a geometric op. Its params are one entry of drawn values per move.

    Attributes:
      moves: `(values, frame) -> (stage, frame)`; a move places its stage in the picture at hand.
      edge: what the recipe said about the border; None if nothing.
      alone: how it reads when nothing was said.
      pixels: `(params, image, before, after) -> image`, a cheaper or better way to move the pixels than reads at
        coordinates, used when the op stands alone; it may decline by returning None.
      fusable: whether coordinates say all that the op does.
    """

    moves: tuple[Move, ...]
    edge: Edge | None = None
    alone: Edge = Edge()
    pixels: Callable | None = None
    fusable: bool = True

    def __call__(self, params: tuple, sample: Sample) -> Sample:
        """Moves all fields of the sample; pixels are read once."""
        return resample(self, params, sample)


def geometric(name: str, draw: Callable[[Array, Any], Any], move: Move, *, neutral: bool = True, **settings: Any) -> Op:
    """An op from a draw of values and a move that turns them into a stage; `settings` are those of `Warp`."""
    return Op(lambda key, spec: (draw(key, spec),), Warp((move,), **settings), name=name, neutral=neutral)


def fuse(*ops: Op, border: str = "constant", fill: float = 0, fill_mask: float = 0) -> Op:
    """Composes geometric ops into one that reads each pixel once: sharper and faster than one read per op.

    Draws are those of `chain(*ops)`. Ops apply in the order given.

    Args:
      border: `constant` (blends with the fill, as OpenCV does; fills the padding, too), `edge`, `reflect101`, `reflect`
        or `wrap`.
      fill: what lies beyond the picture under `constant`, in the picture's own values (255 is white for uint8).
      fill_mask: the same for the mask.

    Raises:
      ValueError: when built, if a member is not geometric, the border is unknown, a member has another border, or a
        fill is not a finite number; when traced, if an integer picture cannot hold the fill.
    """
    draw = joined_draw(*ops)
    edge = Edge(one_of_names("border", border, BORDERS), number("fill", fill), number("fill_mask", fill_mask))
    for op in ops:
        if not (isinstance(op.apply, Warp) and op.apply.fusable):
            raise ValueError(f"fuse takes ops that only move pixels, not {op.name!r}; chain that with the fuse instead")
        if op.apply.edge not in (None, edge):
            raise ValueError(f"{op.name!r} reads with {op.apply.edge}, the fuse around it with {edge}; make them equal")
    moves = sum((op.apply.moves for op in ops), ())
    return Op(draw, Warp(moves, edge), name="fuse", neutral=all(op.neutral for op in ops))


def resample(warp: Warp, params: tuple, sample: Sample) -> Sample:
    """Applies placed moves to every field of a sample: image bilinear, mask nearest, labels by `push`."""
    before = Frame(tuple(sample.image.shape[:2]), extent(sample))
    stages, after = place(warp.moves, params, before)
    edge = warp.edge or warp.alone
    read_image, read_mask = _readers(stages, before.extent, after, edge.border)
    image = warp.pixels(params, sample.image, before, after) if warp.pixels else None
    return Sample(
        image=read_image(sample.image, fill=edge.fill) if image is None else image,
        mask=None if sample.mask is None else read_mask(sample.mask, fill=edge.fill_mask),
        valid=true_size(sample.valid, after),
        **_labels(warp.moves, params, sample),
    )


def _labels(moves: tuple[Move, ...], params: tuple, sample: Sample) -> dict[str, Array | None]:
    """The moved labels. Their places are computed anew, for one member at a time: so they have the same bits in any
    batch, which those of pixels need not, since pixels are rounded."""

    def moved(params, valid, points, boxes, quads):
        frame = Frame(tuple(sample.image.shape[:2]), extent(sample.replace(valid=valid)))
        stages, _ = place(moves, params, frame)
        return {
            "points": push_points(stages, points),
            "boxes": push_boxes(stages, boxes),
            "quads": push_points(stages, quads),
        }

    return member_by_member(moved, params, sample.valid, sample.points, sample.boxes, sample.quads)


def place(moves: tuple[Move, ...], params: tuple, frame: Frame) -> tuple[list[Stage], Frame]:
    """Places each move in the picture that the ones before it leave; returns the stages and the last frame."""
    stages = []
    for move, values in zip(moves, params, strict=True):
        stage, frame = move(values, frame)
        stages.append(stage)
    return stages, frame


def scaled_extent(frame: Frame, size: tuple[int, int]) -> tuple:
    """The true extent after the whole picture was scaled to `size`: rounded to the nearest pixel, at least one."""
    return tuple(_scaled(*lengths) for lengths in zip(frame.extent, frame.size, size, strict=True))


def _scaled(length, before: int, after: int):
    if isinstance(length, int):
        return max(1, (2 * length * after + before) // (2 * before))
    return jnp.maximum(1, (2 * length * after + before) // (2 * before))


def _readers(stages: list[Stage], extent: tuple, after: Frame, border: str) -> tuple[Callable, Callable]:
    """How image and mask are read: as cheaply as the kinds of stages allow."""
    whole = all(isinstance(stage, Lattice) for stage in stages)
    lattice = functools.reduce(Lattice.then, stages) if whole else None
    if whole and lattice.known() and border == "constant":
        exact = functools.partial(move_known, lattice=lattice, extent=extent, after=after)
        return exact, exact
    x, y = _sources(stages, after)
    settings = {"x": x, "y": y, "extent": extent, "border": border}
    if whole:
        exact = functools.partial(read_lattice, **settings, turned=lattice.turned)
        return exact, exact
    return functools.partial(read_bilinear, **settings), functools.partial(read_nearest, **settings)


def _sources(stages: list[Stage], frame: Frame) -> tuple[Array, Array]:
    """Where the pixels of the result come from; those of its padding come from far outside, so they get the fill."""
    column, row = jnp.arange(frame.size[1])[None, :], jnp.arange(frame.size[0])[:, None]
    x, y = column.astype(jnp.float32), row.astype(jnp.float32)
    for stage in reversed(stages):
        x, y = stage.pull(x, y)
    if frame.whole():
        return x, y
    within = column < frame.extent[1], row < frame.extent[0]
    return _outside(x, *within), _outside(y, *within)


def _outside(position: Array, column_in: Array, row_in: Array) -> Array:
    """Moves padding far out, looking only at the axes along which the coordinate varies, so that its shape stays."""
    if position.shape[0] == 1 and column_in.shape[1] > 1:
        return jnp.where(column_in, position, OUTSIDE)
    if position.shape[1] == 1 and row_in.shape[0] > 1:
        return jnp.where(row_in, position, OUTSIDE)
    return jnp.where(column_in & row_in, position, OUTSIDE)


def true_size(valid: Array | None, frame: Frame) -> Array | None:
    """`Sample.valid` for a frame; None stays None while the whole picture is valid."""
    if valid is None and frame.whole():
        return None
    return jnp.stack([jnp.asarray(length, jnp.int32) for length in frame.extent])
