"""Ragged images on the host: padded batches, their way back, width buckets, and batches from workers. NumPy only."""

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxkit.records import Sample

WIDTH_STEP = 32


def stack(images: Sequence[Any], *, size: tuple[int, int] | None = None, fill: float = 0) -> Sample:
    """Pads images of differing sizes into one batch, anchored at the top left.

    Args:
      images: arrays `[H_i, W_i, C]` or `[H_i, W_i]` (one channel), all uint8, or all float16 or float32.
      size: (height, width) of the batch. Default: the smallest that fits, its width rounded up to a multiple of 32,
        so that few shapes have to be compiled.
      fill: value of the padding.

    Returns:
      A `Sample` of NumPy arrays: `image` `[B, H, W, C]` in the dtype of the images and `valid` `[B, 2]` int32.

    Raises:
      ValueError: for no images, for an image that is empty, does not fit `size`, or differs from the first in channels
        or dtype, and for a fill that the dtype cannot hold. The image is named by its index and shape.
    """
    arrays = [_image(index, image) for index, image in enumerate(images)]
    if not arrays:
        raise ValueError("stack needs at least one image")
    _check_alike(arrays)
    height, width = size or _smallest(arrays)
    first = arrays[0]
    batch = np.full((len(arrays), height, width, first.shape[2]), _check_fill(fill, first.dtype), first.dtype)
    for index, array in enumerate(arrays):
        if array.shape[0] > height or array.shape[1] > width:
            raise ValueError(f"image {index} of shape {array.shape} does not fit size {(height, width)}; resize it")
        batch[index, : array.shape[0], : array.shape[1]] = array
    return Sample(image=batch, valid=np.array([array.shape[:2] for array in arrays], np.int32))


def unstack(sample: Sample) -> list[np.ndarray]:
    """Cuts a batch back into images: the inverse of `stack`, except that grey images come back as `[H_i, W_i, 1]`.

    Args:
      sample: `image` `[B, H, W, C]` and `valid` `[B, 2]` (height, width), or None where every picture is whole.

    Returns:
      B arrays `[H_i, W_i, C]`: views of one NumPy array.

    Raises:
      ValueError: if `image` is not a batch, or `valid` is not one (height, width) within the picture for each image.
    """
    images = np.asarray(sample.image)
    if images.ndim != 4:
        raise ValueError(f"unstack takes a batch [B, H, W, C], got image of shape {images.shape}")
    if sample.valid is None:
        return list(images)
    valid = np.asarray(sample.valid)
    if valid.shape != (len(images), 2):
        raise ValueError(f"valid must be [{len(images)}, 2] (height, width), got shape {valid.shape}")
    for index, extent in enumerate(valid):
        if (extent < 1).any() or (extent > images.shape[1:3]).any():
            raise ValueError(f"valid[{index}] = {extent.tolist()} is not within image {index} of {images.shape[1:]}")
    return [image[:height, :width] for image, (height, width) in zip(images, valid, strict=True)]


def numpy_collate(items: Sequence[Any]) -> Any:
    """Stacks the examples of a batch into one pytree of NumPy arrays: `collate_fn` of a `torch.utils.data.DataLoader`.

    No JAX work is done, so it is safe in forked workers. Arrays, tensors and numbers gain a leading axis B (Python
    ints become int64, Python floats float32 as in JAX); text becomes a list of B strings.

    Args:
      items: B examples, pytrees of the same structure and shapes.

    Returns:
      The same pytree, each leaf `[B, ...]`.

    Raises:
      ValueError: for no items, or one whose structure, shape or dtype differs from the first, with index and leaf.
    """
    if not items:
        raise ValueError("numpy_collate needs at least one item")
    named, structure = jax.tree_util.tree_flatten_with_path(items[0])
    rows = []
    for index, item in enumerate(items):
        leaves, own = jax.tree.flatten(item)
        if own != structure:
            raise ValueError(f"item {index} has structure {own}, item 0 has {structure}")
        rows.append(leaves)
    columns = zip(*rows, strict=True)
    return structure.unflatten(
        _collate(f"item{jax.tree_util.keystr(path)}", column) for (path, _), column in zip(named, columns, strict=True)
    )


def buckets(widths: Sequence[int], count: int) -> tuple[int, ...]:
    """The widths to pad to, at most `count` of them, that waste the least padding on a sample of widths.

    Each bucket costs one compilation. Exact, by dynamic programming over the distinct widths: an edge that is not one
    of them only adds padding.

    Args:
      widths: a sample of image widths (or any lengths), positive integers. Later widths must not exceed the largest.
      count: the number of compilations that may be paid for.

    Returns:
      Increasing edges; the last is the largest width.

    Raises:
      ValueError: for no widths, a width below 1, or a count below 1.
    """
    values, counts = np.unique(np.asarray(widths), return_counts=True)
    if values.size == 0 or values.dtype.kind not in "iu" or values[0] < 1:
        raise ValueError(f"widths must be positive integers, at least one of them, got {widths!r:.80}")
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    values, n = values.astype(np.int64), len(values)
    total = np.concatenate([[0], np.cumsum(counts)])
    # area[j]: the least padded area of the first j distinct widths. What is not padding is fixed, so it may be left in.
    area = np.concatenate([[0], values * total[1:]])
    choices = []
    for _ in range(min(count, n) - 1):
        cuts = [int(np.argmin(area[:j] + values[j - 1] * (total[j] - total[:j]))) for j in range(1, n + 1)]
        area = np.array([0] + [area[i] + values[j] * (total[j + 1] - total[i]) for j, i in enumerate(cuts)])
        choices.append(cuts)
    edges, end = [int(values[-1])], n
    for cuts in reversed(choices):
        end = cuts[end - 1]
        if end == 0:
            break
        edges.append(int(values[end - 1]))
    return tuple(reversed(edges))


def bucket_of(width: int, edges: Sequence[int]) -> int:
    """The smallest edge that holds `width`; `stack(images, size=(height, bucket_of(width, edges)))` uses it.

    Raises:
      ValueError: if `width` is above the last edge.
    """
    index = int(np.searchsorted(np.asarray(edges), width))
    if index == len(edges):
        raise ValueError(f"width {width} is above the last edge of {tuple(edges)}; the widths sampled must reach it")
    return int(edges[index])


def _image(index: int, image: Any) -> np.ndarray:
    array = np.asarray(image)
    if array.ndim not in (2, 3) or array.size == 0:
        raise ValueError(f"image {index} must be [H, W, C] or [H, W] and not empty, got shape {array.shape}")
    if array.dtype not in (np.uint8, np.float16, np.float32):
        raise ValueError(f"image {index} of shape {array.shape} is {array.dtype}; convert it to uint8 or float32")
    return array[:, :, None] if array.ndim == 2 else array


def _check_alike(arrays: list[np.ndarray]) -> None:
    first = arrays[0]
    for index, array in enumerate(arrays):
        if array.shape[2] != first.shape[2] or array.dtype != first.dtype:
            raise ValueError(
                f"image {index} of shape {array.shape} ({array.dtype}) differs in channels or dtype from image 0 "
                f"of shape {first.shape} ({first.dtype}); convert them to one kind"
            )


def _check_fill(fill: float, dtype: np.dtype) -> float:
    if dtype == np.uint8 and fill not in range(256):
        raise ValueError(f"fill must be an integer in [0, 255] for uint8 images, got {fill!r}")
    if not math.isfinite(fill):
        raise ValueError(f"fill must be finite, got {fill!r}")
    return fill


def _smallest(arrays: list[np.ndarray]) -> tuple[int, int]:
    width = max(array.shape[1] for array in arrays)
    return max(array.shape[0] for array in arrays), -(-width // WIDTH_STEP) * WIDTH_STEP


def _collate(name: str, column: tuple) -> Any:
    if isinstance(column[0], str | bytes):
        return list(column)
    arrays = [np.float32(value) if type(value) is float else np.asarray(value) for value in column]
    for index, array in enumerate(arrays):
        if array.shape != arrays[0].shape or array.dtype != arrays[0].dtype:
            raise ValueError(
                f"{name} of item {index} is {array.dtype} {array.shape}, of item 0 {arrays[0].dtype} "
                f"{arrays[0].shape}; pad images with jaxkit.interop.stack, or give them one size"
            )
    return np.stack(arrays)
