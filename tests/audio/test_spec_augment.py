"""Laws of the masks of SpecAugment."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Features
from jaxkit.audio.spec_augment import POLICIES, Masks, spec_augment

FRAMES, BINS, MANY = 300, 40, 4000


def _drawn(op, count=MANY):
    spec = Features(jax.ShapeDtypeStruct((FRAMES, BINS), jnp.float32))
    return jax.jit(jax.vmap(lambda key: op.draw(key, spec)))(jax.random.split(jax.random.key(5), count))


def _hidden(op, masks, lengths):
    """`[N, FRAMES]` and `[N, BINS]`: which frames and bins are masked, seen on features that are one."""
    features = Features(jnp.ones((FRAMES, BINS)), None)
    masked = jax.jit(jax.vmap(lambda masks, length: op.apply(masks, features.replace(length=length)).values))
    seen = np.asarray(masked(masks, jnp.asarray(lengths, jnp.int32))) == -1
    return seen.all(axis=2), np.array([rows[: max(n, 1)].all(axis=0) for rows, n in zip(seen, lengths, strict=True)])


def _uniform(values, largest):
    """Whether integers are uniform over 0 to `largest`, both included, by a chi-square test of one in a million."""
    counts = np.bincount(np.asarray(values).reshape(-1), minlength=largest + 1)
    assert len(counts) == largest + 1
    expected = counts.sum() / len(counts)
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < largest + 5 * np.sqrt(2 * largest) + 10


def test_the_policies_are_those_of_the_paper():
    """Table 1 of Park et al. 2019: F, mF, T, mT, p."""
    assert POLICIES["LB"] == (27, 1, 100, 1, 1.0)
    assert POLICIES["LD"] == (27, 2, 100, 2, 1.0)
    assert POLICIES["SM"] == (15, 2, 70, 2, 0.2)
    assert POLICIES["SS"] == (27, 2, 70, 2, 0.2)
    spec = Features(jax.ShapeDtypeStruct((FRAMES, BINS), jnp.float32))
    for name, policy in POLICIES.items():
        drawn = jax.eval_shape(spec_augment(policy=name).draw, jax.random.key(0), spec)
        assert drawn.freq_width.shape == (policy.freq_masks,) and drawn.time_width.shape == (policy.time_masks,)


def test_widths_and_places_of_one_mask_are_uniform():
    op = spec_augment(policy="LB", fill=-1.0, freq_width=9, time_width=11)
    masks = _drawn(op)
    lengths = np.random.default_rng(1).integers(20, 60, MANY)
    frames, bins = _hidden(op, masks, lengths)
    _uniform(bins.sum(axis=1), 9)
    _uniform(frames.sum(axis=1), 11)
    for hidden, width, whole in ((bins, 9, np.full(MANY, BINS)), (frames, 11, lengths)):
        some = hidden.sum(axis=1) == width
        first = hidden.argmax(axis=1)[some]
        np.testing.assert_array_equal(hidden[some].sum(axis=1), width)
        share = first / (whole[some] - width)
        assert share.min() == 0 and share.max() == 1
        assert abs(share.mean() - 0.5) < 5 * np.sqrt(1 / 12 / some.sum())
    np.testing.assert_array_equal(frames & (np.arange(FRAMES) >= lengths[:, None]), False)


def test_a_time_mask_takes_no_more_than_its_part_of_the_valid_frames():
    op = spec_augment(policy="SM", fill=-1.0, time_masks=1, freq_masks=0)
    lengths = np.resize([0, 4, 5, 50, 300], MANY)
    frames, _ = _hidden(op, _drawn(op), lengths)
    widths = frames.sum(axis=1)
    for length, widest in ((0, 0), (4, 0), (5, 1), (50, 10), (300, 60)):
        assert widths[lengths == length].max() == widest
    _uniform(widths[lengths == 50], 10)


def test_masks_are_filled(rng):
    values = rng.normal(3, 1, (FRAMES, BINS)).astype(np.float32)
    padded = np.where(np.arange(FRAMES)[:, None] < 200, values, np.float32(np.nan))
    masks = Masks(*(np.array([value]) for value in (np.int32(5), np.int32(3), np.float32(0.5), np.float32(0.5))))
    hidden = np.zeros((FRAMES, BINS), bool)
    hidden[:, 5:8] = True
    hidden[75:125] = True
    hidden[200:] = False
    fills = {"mean": values[:200].mean(), "zero": 0.0, -4.5: -4.5}
    for fill, level in fills.items():
        op = spec_augment(policy="LB", time_width=100, fill=fill)
        ours = jax.jit(op.apply)(masks, Features(jnp.asarray(padded), jnp.int32(200)))
        expected = np.where(hidden, np.float32(level), np.where(np.isnan(padded), 0, padded))
        np.testing.assert_allclose(ours.values, expected, atol=1e-5)


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"policy": "XL"}, "XL"),
        ({"fill": "median"}, "median"),
        ({"fill": None}, "None"),
        ({"freq_width": -1}, "-1"),
        ({"time_masks": 1.5}, "1.5"),
        ({"time_fraction": 1.2}, "1.2"),
    ],
)
def test_wrong_recipes_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        spec_augment(**settings)
