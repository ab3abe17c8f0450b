"""The combinators: streams, frequencies, and what is composed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Op, Sample, batch, chain, image, maybe, one_of, stateless, warp
from tests.contract import assert_same, pictures

MANY = 4000
IDS = np.arange(MANY)
SPEC = Sample(jax.ShapeDtypeStruct((MANY, 8, 8, 1), "float32"))
ONE = Sample(jax.ShapeDtypeStruct((8, 8, 1), "float32"))


def _number(name="number", neutral=False):
    """An op that draws one number and adds it."""
    return Op(lambda key, spec: jax.random.normal(key), _add, name, neutral)


def _add(number, sample):
    return sample.replace(image=sample.image + number)


def _draw(op, seed=0, spec=ONE):
    return op.draw(jax.random.key(seed), spec)


def _share(hits, p):
    """A count of hits that a fair coin of probability `p` gives within four standard deviations."""
    hits = np.asarray(hits)
    np.testing.assert_allclose(hits.mean(), p, atol=4 * np.sqrt(p * (1 - p) / hits.size))


def test_chain_applies_in_the_order_given():
    double, shift = stateless(lambda x: x * 2), stateless(lambda x: x + 1)
    assert chain(double, shift).apply(((), ()), 3) == 7
    assert chain(shift, double).apply(((), ()), 3) == 8


def test_chain_threads_the_shape():
    seen = []
    spy = Op(lambda key, spec: seen.append(spec.image.shape) or (), lambda params, sample: sample, name="spy")
    _draw(chain(spy, warp.center_crop(size=(4, 6)), spy), spec=Sample(jax.ShapeDtypeStruct((8, 8, 1), "uint8")))
    assert seen == [(8, 8, 1), (4, 6, 1)]


def test_members_of_one_name_have_streams_of_their_own():
    first, second = _draw(chain(_number(), _number()))
    assert first != second


def test_draws_survive_insertion_and_removal():
    plain = _draw(chain(_number("a"), _number("b")))
    first, _, last = _draw(chain(_number("a"), _number("c"), _number("b")))
    assert (first, last) == plain
    assert _draw(chain(_number("b")))[0] == plain[1]


def test_a_chain_in_a_chain_draws_anew():
    inner = chain(_number())
    (first,), (second,) = _draw(chain(inner, inner))
    assert first != second
    assert first != _draw(inner)[0]


def test_a_chain_is_neutral_if_all_members_are():
    assert chain(warp.rotate(), image.gaussian_blur()).neutral
    assert not chain(warp.rotate(), warp.center_crop(size=(2, 2))).neutral


def test_stateless_draws_nothing():
    op = stateless(lambda sample: sample.replace(image=-sample.image))
    assert jax.tree.leaves(_draw(op)) == []
    assert op.apply((), Sample(jnp.ones((1, 1, 1)))).image == -1


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("neutral", [True, False], ids=["gated", "compacted"])
def test_maybe_hits_with_its_probability(p, neutral):
    params = batch(maybe(_number(neutral=neutral), p)).draw(jax.random.key(0), IDS, SPEC)
    _share(params != 0 if neutral else params[0], p)


def test_maybe_draws_as_its_op_does_when_it_hits():
    key = jax.random.key(1)
    gated = batch(maybe(_number(neutral=True), 0.5)).draw(key, IDS, SPEC)
    hit, drawn = batch(maybe(_number(), 0.5)).draw(key, IDS, SPEC)
    np.testing.assert_array_equal(gated, np.where(hit, drawn, 0))
    assert abs(np.corrcoef(hit, drawn)[0, 1]) < 4 / np.sqrt(MANY)


def test_maybe_of_a_neutral_op_can_be_fused():
    op = warp.fuse(maybe(warp.rotate(), 0.5), warp.shear())
    assert op.neutral
    turns, _ = batch(op).draw(jax.random.key(0), IDS, SPEC)
    _share(turns != 0, 0.5)


@pytest.mark.parametrize("weights", [None, (1, 3, 0), (0.25, 0.25, 0.5)], ids=["equal", "1:3:0", "quarters"])
def test_one_of_chooses_by_weight(weights):
    choice, _ = batch(one_of(*[_number(str(i)) for i in range(3)], weights=weights)).draw(jax.random.key(2), IDS, SPEC)
    shares = np.ones(3) / 3 if weights is None else np.array(weights) / sum(weights)
    for index, share in enumerate(shares):
        _share(choice == index, share)


def test_one_of_applies_exactly_the_chosen_op():
    ops = [stateless(lambda sample, step=10.0**i: sample.replace(image=sample.image + step)) for i in range(3)]
    f = batch(one_of(*ops))
    black = Sample(jnp.zeros((64, 2, 2, 1)))
    choice, _ = params = f.draw(jax.random.key(3), np.arange(64), black)
    expected = 10.0 ** np.asarray(choice, np.float32)[:, None, None, None]
    np.testing.assert_array_equal(f.apply(params, black).image, np.broadcast_to(expected, (64, 2, 2, 1)))


@pytest.mark.parametrize("make", [maybe, one_of], ids=["maybe", "one_of"])
def test_a_choice_may_not_change_shapes(make):
    with pytest.raises(ValueError, match="center_crop.*changes shapes"):
        _draw(make(warp.center_crop(size=(2, 2))))


def test_a_choice_may_not_change_dtypes():
    with pytest.raises(ValueError, match="changes shapes or dtypes"):
        _draw(maybe(stateless(lambda sample: sample.replace(image=sample.image.astype(jnp.bfloat16)))))


def test_fuse_and_tone_draw_as_chain_does():
    moves = warp.rotate(), warp.elastic(), warp.rotate(), warp.shear()
    curves = image.gamma(), image.invert(), image.gamma()
    for whole, members in ((warp.fuse(*moves), moves), (image.tone(*curves), curves)):
        assert_same(_draw(whole), sum(_draw(chain(*members)), ()))


def test_tone_equals_chain_bit_for_bit():
    curves = image.gamma(), image.brightness_contrast(), image.invert(), image.gamma(exponent=(0.3, 3.0))
    key, sample, ids = jax.random.key(4), pictures("uint8"), np.arange(8)
    assert_same(batch(image.tone(*curves))(key, ids, sample), batch(chain(*curves))(key, ids, sample))
