"""The laws that every op obeys, run over the whole catalogue."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Op, Sample, chain
from tests.catalogue import ALL, CATALOGUE
from tests.contract import (
    EXTENTS,
    IDS,
    MEMBERS,
    SIZE,
    assert_close,
    assert_images,
    assert_same,
    crop,
    drawn,
    mapped,
    member,
    op,
    padded,
    pictures,
    result,
    single,
    spec_of,
    zeros,
)

DTYPES = ("uint8", "float32")


def every(entries):
    """Parametrises a test over entries of the catalogue."""
    entries = tuple(entries)
    return pytest.mark.parametrize("entry", entries, ids=[entry.name for entry in entries])


@every(CATALOGUE)
def test_the_compiled_batch_equals_the_eager_op(entry):
    alone = op(entry).apply(member(drawn(entry), 1), member(pictures("uint8"), 1))
    assert_close(member(result(entry, "uint8"), 1), alone, entry)


@every(ALL)
def test_vmap_equals_the_compiled_loop(entry):
    for index in MEMBERS:
        alone = single(entry)(member(drawn(entry), index), member(pictures("float32"), index))
        assert_close(member(result(entry, "float32"), index), alone, entry)


@every(ALL)
def test_draw_needs_shapes_only(entry):
    key, spec = jax.random.fold_in(jax.random.key(3), IDS[1]), spec_of(member(pictures("uint8"), 1))
    params = op(entry).draw(key, spec)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), params, member(drawn(entry), 1))


@every(ALL)
@pytest.mark.parametrize("dtype", ("uint8", "float32", "bfloat16", "float16"))
def test_eval_shape_tells_the_result(entry, dtype):
    params, sample = member(drawn(entry), 0), member(pictures("float32"), 0)
    sample = sample.replace(image=jax.ShapeDtypeStruct(sample.image.shape, jnp.dtype(dtype)))
    told = jax.eval_shape(op(entry).apply, params, sample)
    assert told.image.dtype == dtype
    assert [leaf.dtype for leaf in (told.mask, told.points, told.boxes, told.quads)] == [jnp.int32] + 3 * [jnp.float32]
    assert told.mask.shape == told.image.shape[:2]
    if dtype in DTYPES:
        assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), told) == jax.tree.map(
            lambda leaf: (leaf.shape, leaf.dtype), member(result(entry, dtype), 0)
        )


@every(ALL)
def test_operation_by_operation_nothing_is_compiled_twice(entry, programs):
    params, sample = member(drawn(entry), 0), member(padded("uint8", 7), 0)
    op(entry).apply(params, sample)
    before = len(programs)
    op(entry).apply(params, sample)
    assert programs[before:] == []


@every(ALL)
def test_same_key_gives_the_same_bits(entry):
    again = mapped(entry)(jax.random.key(3), IDS, pictures("uint8"))
    assert_same(again, result(entry, "uint8"))


@every(entry for entry in ALL if entry.random)
def test_another_key_gives_another_result(entry):
    others = [mapped(entry)(jax.random.key(seed), IDS, pictures("uint8")) for seed in (3, 4, 5)]
    assert_same(others[0], result(entry, "uint8"))
    assert len({np.asarray(other.image).tobytes() for other in others}) == 3


@every(entry for entry in ALL if not entry.random)
def test_ops_without_chance_ignore_the_key(entry):
    assert_same(mapped(entry)(jax.random.key(4), IDS + 9, pictures("uint8")), result(entry, "uint8"))


@every(entry for entry in ALL if entry.recipe().neutral)
@pytest.mark.parametrize("dtype", DTYPES)
def test_zero_params_are_the_identity(entry, dtype):
    nothing = zeros(drawn(entry))
    assert_same(mapped(entry).apply(nothing, pictures(dtype)), pictures(dtype))


@every(ALL)
def test_uint8_agrees_with_float(entry):
    levels, fractions = result(entry, "uint8").image, result(entry, "float32").image
    assert_images(levels, np.round(np.asarray(fractions) * 255.0), entry.levels)


@every(ALL)
@pytest.mark.parametrize("dtype", DTYPES)
def test_padding_changes_no_valid_value(entry, dtype):
    one, other = (mapped(entry).apply(drawn(entry), padded(dtype, garbage)) for garbage in (99, 201))
    np.testing.assert_array_equal(one.valid, other.valid)
    for index in IDS:
        left, right = (crop(member(sample, index), *one.valid[index].tolist()) for sample in (one, other))
        assert_same(left, right)
        assert np.isfinite(np.asarray(left.image)).all()
        assert set(np.unique(left.mask)) <= {0, 1, 2, 3}


@every(ALL)
def test_a_padded_picture_is_treated_as_the_unpadded_one(entry):
    inside = member(mapped(entry).apply(drawn(entry), padded("float32", 99)), 0)
    alone = jax.jit((entry.unpadded or entry.recipe)().apply)
    expected = alone(member(drawn(entry), 0), crop(member(pictures("float32"), 0), *EXTENTS[0]))
    height, width = expected.image.shape[:2] if expected.valid is None else expected.valid.tolist()
    assert inside.valid.tolist() == [height, width]
    assert_close(crop(inside, height, width), crop(expected, height, width), entry)


@every(ALL)
def test_the_whole_extent_is_the_same_as_none(entry):
    full = mapped(entry).apply(drawn(entry), padded("uint8", 99))
    inside = member(full, 1).replace(valid=member(result(entry, "uint8"), 1).valid)
    assert_close(inside, member(result(entry, "uint8"), 1), entry)


@every(ALL)
def test_gradients_are_finite_and_follow_differences(entry):
    params, rng = member(drawn(entry), 0), np.random.default_rng(1)
    # Without ties, which minima have two slopes at, and without values that a clip would flatten.
    sample = member(pictures("float32"), 0).replace(image=jnp.asarray(rng.uniform(0.25, 0.75, (*SIZE, 3)), jnp.float32))
    shape = result(entry, "float32").image.shape[1:]
    weights, direction = (jnp.asarray(rng.normal(0, 1, s), jnp.float32) for s in (shape, (*SIZE, 3)))

    @jax.jit
    def slopes(image, own):
        loss = lambda image, own: jnp.vdot(op(entry).apply(own, sample.replace(image=image)).image, weights)  # noqa: E731
        return jax.value_and_grad(loss, argnums=(0, 1), allow_int=True)(image, own)

    _, at = slopes(sample.image, params)
    ahead, behind = (slopes(sample.image + step * direction, params)[0] for step in (1e-4, -1e-4))
    slope = np.vdot(at[0], direction)
    np.testing.assert_allclose(slope, np.subtract(ahead, behind) / 2e-4, atol=0.05 * np.linalg.norm(at[0]))
    black, none = zeros(sample.image), zeros(params) if op(entry).neutral else params
    for found in (at, slopes(sample.image, none)[1], slopes(black, params)[1], slopes(black, none)[1]):
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found) if leaf.dtype == np.float32)


@every(ALL)
def test_a_hundred_calls_compile_once(entry, programs):
    keys = [jax.random.key(seed) for seed in range(100)]
    mapped(entry)(keys[0], IDS, pictures("uint8"))
    before = len(programs)
    for index, key in enumerate(keys):
        mapped(entry)(key, IDS + index, pictures("uint8"))
    assert programs[before:] == []


@every(ALL)
def test_results_do_not_depend_on_the_order(entry):
    order = np.array([2, 7, 1, 0, 4, 3, 6, 5])
    shuffled = mapped(entry)(jax.random.key(3), IDS[order], member(pictures("uint8"), order))
    assert_same(shuffled, member(result(entry, "uint8"), order))


@every(ALL)
def test_another_op_in_the_chain_does_not_reseed_it(entry):
    probe = Op(lambda key, spec: jax.random.normal(key), lambda params, example: example, name="probe")
    spec = spec_of(member(pictures("uint8"), 0))
    (plain,) = chain(op(entry)).draw(jax.random.key(5), spec)
    _, after, _ = chain(probe, op(entry), probe).draw(jax.random.key(5), spec)
    assert_same(after, plain)


@every(ALL)
def test_no_examples_give_no_examples(entry):
    nothing = member(pictures("uint8"), np.s_[:0])
    out = mapped(entry)(jax.random.key(3), IDS[:0], nothing)
    assert out.image.shape == (0, *result(entry, "uint8").image.shape[1:])


ODD = (("uint8", (1, 1), 1), ("float32", (1, 9), 3), ("uint8", (7, 1), 4))


@every(entry for entry in ALL if "crop" not in entry.name)
@pytest.mark.parametrize("dtype, size, channels", ODD, ids=["1x1x1", "1x9x3", "7x1x4"])
def test_small_and_odd_pictures(entry, dtype, size, channels):
    if entry.name == "grayscale" and channels == 4:
        with pytest.raises(ValueError, match="1 or 3 channels"):
            single(entry)(member(drawn(entry), 0), member(pictures(dtype, size=size, channels=channels), 0))
        return
    sample, params = member(pictures(dtype, size=size, channels=channels), 0), member(drawn(entry), 0)
    out = single(entry)(params, sample)
    assert out.image.dtype == dtype and out.image.shape[-1] == channels
    assert np.isfinite(out.image).all() and np.isfinite(out.points).all()
    assert out.mask.shape == out.image.shape[:2]
    if op(entry).neutral:
        assert_same(single(entry)(zeros(params), sample), sample)
    if entry.kind == "moves" or entry.kind == "resizes":
        brightest, allowed = np.asarray(out.image).max(), np.asarray(sample.image).max()
        assert_images(brightest, np.minimum(brightest, allowed), 1e-6)


def _scene() -> Sample:
    """A soft spot at the first point, a block in the mask that the box and the quads outline.

    The shapes are those of `pictures("float32")`, whose program is compiled already.
    """
    height, width = SIZE
    y, x = np.mgrid[:height, :width]
    spot = np.exp(-((x - 19.0) ** 2 + (y - 11.0) ** 2) / 4.0)
    mask = ((x >= 16) & (x < 23) & (y >= 9) & (y < 14)).astype(np.int32)
    corners = np.array([[16, 9], [22, 9], [22, 13], [16, 13]], np.float32)
    one = Sample(
        image=np.repeat(spot[..., None], 3, axis=-1).astype(np.float32),
        mask=mask,
        points=np.concatenate([[[19, 11]], corners]).astype(np.float32),
        boxes=np.array([[16, 9, 23, 14]], np.float32),
        quads=np.stack([corners, corners]),
    )
    return jax.tree.map(lambda leaf: jnp.asarray(np.stack([leaf] * len(IDS))), one)


@every(entry for entry in ALL if entry.kind in ("moves", "resizes"))
def test_image_mask_points_boxes_and_quads_move_together(entry):
    moved = mapped(entry).apply(drawn(entry), _scene())
    for index in IDS:
        one = jax.tree.map(np.asarray, member(moved, index))
        y, x = np.mgrid[: one.image.shape[0], : one.image.shape[1]]
        weight = np.where(one.image[..., 0] > 0.3, one.image[..., 0], 0.0)
        centre = np.array([(x * weight).sum(), (y * weight).sum()]) / weight.sum()
        np.testing.assert_allclose(one.points[0], centre, atol=0.5)
        rows, columns = np.nonzero(one.mask)
        np.testing.assert_allclose(one.points[0], [columns.mean(), rows.mean()], atol=0.5)
        extent = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        np.testing.assert_allclose(one.boxes[0], extent, atol=0.0 if entry.exact else 1.25)
        np.testing.assert_array_equal(one.quads, np.stack([one.points[1:]] * 2))


@every(entry for entry in ALL if entry.kind == "pixels")
def test_ops_on_pixels_leave_labels_alone(entry):
    before, after = pictures("uint8"), result(entry, "uint8")
    assert_same(after.replace(image=before.image), before)


@every(ALL)
def test_missing_labels_stay_missing(entry):
    bare = Sample(member(pictures("uint8"), 0).image)
    told = jax.eval_shape(op(entry).apply, member(drawn(entry), 0), bare)
    assert (told.mask, told.points, told.boxes, told.quads) == (None, None, None, None)
