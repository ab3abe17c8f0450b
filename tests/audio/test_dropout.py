"""Holes in sound."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.dropout import dropout, packet_loss

RATE = 1000
MANY = 400
MILLISECONDS = jax.jit(packet_loss(packet_seconds=0.001).apply)


def _draws(op, spec=None):
    keys = jax.random.split(jax.random.key(2), MANY)
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(lambda key: op.draw(key, spec)))(keys))


def test_chunks_lie_where_the_params_say():
    params = jnp.asarray([0.0, 1.0, 0.5]), jnp.asarray([0.010, 0.005, 0.0])
    out = dropout(chunks=(3, 3)).apply(params, Clip(jnp.ones(100), jnp.int32(60), rate=RATE))
    expected = np.zeros(100)
    expected[10:55] = 1
    np.testing.assert_array_equal(out.wave, expected)


def test_a_chunk_is_never_longer_than_the_clip():
    params = jnp.asarray([0.3]), jnp.asarray([9.0])
    out = dropout(chunks=(1, 1)).apply(params, Clip(jnp.ones(100), jnp.int32(60), rate=RATE))
    np.testing.assert_array_equal(out.wave, 0)


def test_draws_have_the_given_numbers_and_durations():
    place, seconds = _draws(dropout(chunks=(1, 4), seconds=(0.02, 0.05)))
    assert place.shape == seconds.shape == (MANY, 4) and 0 <= place.min() and place.max() < 1
    counts = (seconds > 0).sum(1)
    assert sorted(set(counts)) == [1, 2, 3, 4]
    assert 0.02 <= seconds[seconds > 0].min() and seconds.max() <= 0.05


def _result(op, seed, clip):
    """Drawn and applied in one program."""
    return np.asarray(jax.jit(lambda key, clip: op.apply(op.draw(key, None), clip).wave)(jax.random.key(seed), clip))


def test_whole_packets_are_lost():
    op = packet_loss(share=(0.3, 0.3), packet_seconds=0.02)
    wave = _result(op, 1, Clip(jnp.ones(1010), rate=RATE))
    packets = wave[:1000].reshape(50, 20)
    assert set(packets.sum(1)) == {0.0, 20.0}
    assert (wave[1000:] == wave[1000]).all()


@pytest.mark.parametrize("share, burst", [(0.1, 1.0), (0.2, 4.0), (0.6, 3.0)])
def test_losses_have_the_share_and_the_bursts(share, burst):
    seed = jnp.asarray([3, 7], jnp.uint32)
    wave = np.asarray(
        MILLISECONDS((seed, jnp.float32(share), jnp.float32(burst)), Clip(jnp.ones(40_000), rate=RATE)).wave
    )
    starts = ((wave[1:] == 0) & (wave[:-1] == 1)).sum()
    np.testing.assert_allclose((wave == 0).mean(), share, rtol=0.15)
    np.testing.assert_allclose((wave == 0).sum() / starts, burst, rtol=0.15)


def test_the_first_packet_is_as_likely_lost_as_any():
    op = packet_loss(share=(0.5, 0.5), burst=(10.0, 10.0))
    params = _draws(op)
    first = jax.jit(jax.vmap(lambda p: op.apply(p, Clip(jnp.ones(20), rate=RATE)).wave[0]))(params)
    assert 0.4 < float(jnp.mean(first)) < 0.6


def test_what_is_lost_does_not_depend_on_the_padding(rng):
    op, wave = packet_loss(share=(0.4, 0.4)), rng.normal(0, 1, 900).astype(np.float32)
    alone = _result(op, 5, Clip(jnp.asarray(wave), rate=RATE))
    padded = _result(op, 5, Clip(jnp.asarray(np.append(wave, [np.nan] * 400)), jnp.int32(900), rate=RATE))
    np.testing.assert_array_equal(padded, np.append(alone, np.zeros(400)))


def test_wrong_recipes_are_refused():
    for wrong in ((-1, 3), (4, 2), (0, 1.5), 3):
        with pytest.raises(ValueError, match="chunks"):
            dropout(chunks=wrong)
    with pytest.raises(ValueError, match="seconds"):
        dropout(seconds=(-1, 0))
    with pytest.raises(ValueError, match="share"):
        packet_loss(share=(0.0, 0.95))
    with pytest.raises(ValueError, match=r"burst must lie within \[4"):
        packet_loss(share=(0.0, 0.8), burst=(1.0, 5.0))
    op = packet_loss(packet_seconds=1e-4)
    with pytest.raises(ValueError, match="less than one sample"):
        op.apply(op.draw(jax.random.key(0), None), Clip(jnp.ones(9), rate=RATE))
