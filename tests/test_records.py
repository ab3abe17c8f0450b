"""The records are pytrees that may lack fields."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip, Sample
from jaxkit.records import extent

FIELDS = ("image", "mask", "points", "boxes", "quads", "valid")


def test_every_field_is_a_leaf_with_its_name():
    leaves = jax.tree_util.tree_leaves_with_path(Sample(*range(6)))
    assert [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves] == [(f".{n}", i) for i, n in enumerate(FIELDS)]


def test_missing_fields_are_no_leaves():
    sample = Sample(np.zeros((2, 3, 1)))
    assert len(jax.tree.leaves(sample)) == 1
    mapped = jax.tree.map(lambda leaf: leaf + 1, sample)
    assert mapped.mask is None and (mapped.image == 1).all()


def test_replace_leaves_the_original_alone():
    sample = Sample(1, mask=2)
    assert sample.replace(image=3) == Sample(3, mask=2)
    assert sample == Sample(1, mask=2)
    with pytest.raises(TypeError):
        sample.replace(picture=1)


@pytest.mark.parametrize("record", [Sample(1), Clip(1)], ids=["sample", "clip"])
def test_records_are_frozen(record):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(record, dataclasses.fields(record)[0].name, 2)


def test_the_rate_of_a_clip_is_static():
    clip = Clip(jnp.zeros(4), length=jnp.int32(3), rate=8000)
    assert len(jax.tree.leaves(clip)) == 2
    assert jax.jit(lambda c: c.replace(wave=c.wave + c.rate))(clip).wave[0] == 8000
    assert jax.tree.structure(clip) != jax.tree.structure(clip.replace(rate=16000))


def test_extent_is_static_without_valid_and_traced_with_it():
    image = jnp.zeros((4, 6, 3))
    assert extent(Sample(image)) == (4, 6)
    assert all(type(length) is int for length in extent(Sample(image)))
    height, width = jax.jit(lambda sample: extent(sample))(Sample(image, valid=jnp.array([2, 5])))
    assert (int(height), int(width)) == (2, 5)
