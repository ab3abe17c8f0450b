"""What the laws of `test_contract.py` share: pictures with labels, compiled programs, and how results are compared."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit import Batch, Op, Sample, batch
from tests.catalogue import Entry

SIZE = (24, 40)
COUNT = 8
MEMBERS = range(3)
EXTENTS = ((18, 30), (24, 40), (7, 11), (1, 40), (24, 1), (23, 39), (12, 20), (2, 3))
IDS = np.arange(COUNT)
FLOAT_SLACK = 3e-5
POINT_SLACK = 2e-3
MASK_SLACK = 0.01


@functools.cache
def op(entry: Entry) -> Op:
    """The op of an entry, built once."""
    return entry.recipe()


@functools.cache
def mapped(entry: Entry) -> Batch:
    """Its compiled form, shared by all tests."""
    return batch(op(entry))


@functools.cache
def single(entry: Entry):
    """Its `apply` for one example, compiled."""
    return jax.jit(op(entry).apply)


@functools.cache
def pictures(dtype: str, *, count: int = COUNT, size: tuple = SIZE, channels: int = 3) -> Sample:
    """Noise, the hardest picture, with labels; the same values for all dtypes, up to their precision."""
    rng = np.random.default_rng(7)
    levels = rng.integers(0, 256, (count, *size, channels), dtype=np.uint8)
    spot = np.array([size[1], size[0]], np.float32)
    box = np.array([0.2, 0.3, 0.7, 0.6]) * np.tile(spot, 2)
    return Sample(
        image=jnp.asarray(levels if dtype == "uint8" else (levels / 255.0).astype(dtype)),
        mask=jnp.asarray(rng.integers(0, 4, (count, *size), dtype=np.int32)),
        points=jnp.asarray((rng.uniform(0.1, 0.9, (count, 5, 2)) * spot).astype(np.float32)),
        boxes=jnp.asarray(np.tile(box, (count, 1, 1)).astype(np.float32)),
        quads=jnp.asarray((rng.uniform(0.1, 0.9, (count, 2, 4, 2)) * spot).astype(np.float32)),
    )


@functools.cache
def drawn(entry: Entry):
    """Params of every member; the members' draws differ."""
    return mapped(entry).draw(jax.random.key(3), IDS, pictures("uint8"))


@functools.cache
def result(entry: Entry, dtype: str) -> Sample:
    """What the compiled batch makes of `pictures(dtype)`."""
    return mapped(entry).apply(drawn(entry), pictures(dtype))


def member(tree, index):
    """One example of a batch, or the examples at an array of indices or in a slice."""
    return jax.tree.map(lambda leaf: _without_program(leaf, index), tree)


def zeros(tree):
    """Zeros of the same shapes and dtypes."""
    return jax.tree.map(lambda leaf: jnp.asarray(np.zeros(leaf.shape, leaf.dtype)), tree)


def _without_program(leaf, index):
    # JAX would compile a program per shape, and for slices per extent; NumPy takes the same values.
    return jnp.asarray(np.asarray(leaf)[index])


def spec_of(tree):
    """Shapes and dtypes only."""
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), tree)


def crop(sample: Sample, height: int, width: int) -> Sample:
    """The upper left part, as a picture of just that size."""
    mask = None if sample.mask is None else _without_program(sample.mask, np.s_[..., :height, :width])
    return sample.replace(image=_without_program(sample.image, np.s_[..., :height, :width, :]), mask=mask, valid=None)


def padded(dtype: str, garbage: int) -> Sample:
    """`pictures(dtype)` with true extents `EXTENTS` and something that must not be read beyond them."""
    whole = pictures(dtype)
    rows, columns = np.arange(SIZE[0])[:, None], np.arange(SIZE[1])[None]
    beyond = np.stack([(rows >= height) | (columns >= width) for height, width in EXTENTS])
    bad = np.nan if dtype != "uint8" else garbage
    return whole.replace(
        image=jnp.asarray(np.where(beyond[..., None], np.array(bad, dtype), np.asarray(whole.image))),
        mask=jnp.asarray(np.where(beyond, np.int32(garbage), np.asarray(whole.mask))),
        valid=jnp.asarray(EXTENTS, jnp.int32),
    )


def assert_same(left, right) -> None:
    """Both trees have the same structure, dtypes and bits."""
    assert jax.tree.structure(left) == jax.tree.structure(right)
    for (path, a), b in zip(jax.tree_util.tree_leaves_with_path(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b), strict=True, err_msg=jax.tree_util.keystr(path))


def assert_close(left: Sample, right: Sample, entry: Entry, *, levels: int = 1) -> None:
    """Both samples agree up to the rounding that another order of the same arithmetic may bring."""
    if entry.exact:
        return assert_same(left, right)
    assert (left.valid is None) == (right.valid is None)
    assert left.image.dtype == right.image.dtype
    assert_images(left.image, right.image, levels if left.image.dtype == jnp.uint8 else FLOAT_SLACK)
    if left.valid is not None:
        np.testing.assert_array_equal(left.valid, right.valid)
    if left.mask is not None:
        # A coordinate in the last bit beside a half chooses the other neighbour.
        assert np.mean(np.asarray(left.mask) != np.asarray(right.mask)) <= MASK_SLACK
    for name in ("points", "boxes", "quads"):
        if getattr(left, name) is not None:
            np.testing.assert_allclose(getattr(left, name), getattr(right, name), atol=POINT_SLACK, err_msg=name)


def assert_images(left, right, slack: float) -> None:
    """No value of one picture is further than `slack` from the other's."""
    left, right = (np.asarray(image).astype(np.float64) for image in (left, right))
    np.testing.assert_allclose(left, right, rtol=0, atol=slack, equal_nan=False)
