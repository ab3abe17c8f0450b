"""The laws of G.711 against the tables of the recommendation, written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.companding import a_law, decode_a_law, decode_mu_law, encode_a_law, encode_mu_law, mu_law

# Tables 1 and 2: for each segment, the number of intervals and their width, in 13-bit (A) and 14-bit (mu) units.
A_SEGMENTS = [(32, 2), (16, 4), (16, 8), (16, 16), (16, 32), (16, 64), (16, 128)]
MU_SEGMENTS = [(1, 1), (15, 2), (16, 4), (16, 8), (16, 16), (16, 32), (16, 64), (16, 128), (16, 256)]


def _tables(segments, unit):
    """Upper decision values and output values of the 128 intervals of one sign, in 16-bit units."""
    widths = np.concatenate([np.full(count, width) for count, width in segments]) * unit
    decisions = np.cumsum(widths)
    values = decisions - widths / 2
    return decisions, values


A_DECISIONS, A_VALUES = _tables(A_SEGMENTS, 8)
MU_DECISIONS, MU_VALUES = _tables(MU_SEGMENTS, 4)
MU_VALUES[0] = 0.0


def _mu_codes(interval, negative):
    """Table 2: bits 1 to 8 of interval n are those of 255 - n, or 127 - n where the sample is negative."""
    return np.where(negative, 127 - interval, 255 - interval)


def _a_codes(interval, negative):
    """Table 1: bit 8 is set for positive samples; the even bits are inverted."""
    return (np.where(negative, 0, 128) + interval) ^ 0x55


LAWS = {
    "mu": (jax.jit(encode_mu_law), jax.jit(decode_mu_law), MU_DECISIONS, MU_VALUES, _mu_codes),
    "a": (jax.jit(encode_a_law), jax.jit(decode_a_law), A_DECISIONS, A_VALUES, _a_codes),
}


def test_the_tables_are_whole():
    assert len(A_VALUES) == len(MU_VALUES) == 128
    assert A_DECISIONS[-1] == 4096 * 8 and A_VALUES[-1] == 4032 * 8 and A_VALUES[0] == 8
    assert MU_DECISIONS[-1] == 8159 * 4 and MU_VALUES[-1] == 8031 * 4 and MU_VALUES[1] == 8


@pytest.mark.parametrize("law", LAWS)
def test_every_code_is_decoded(law):
    _, decode, _, values, codes = LAWS[law]
    for negative, sign in ((False, 1), (True, -1)):
        ours = decode(jnp.asarray(codes(np.arange(128), negative), jnp.uint8))
        np.testing.assert_array_equal(ours, sign * values / 32768)


@pytest.mark.parametrize("law", LAWS)
def test_every_16_bit_sample_is_encoded(law):
    encode, _, decisions, _, codes = LAWS[law]
    samples = np.arange(-32768, 32768)
    # A positive sample on a decision value belongs above it, a negative one nearer to zero: one's complement.
    magnitude = np.where(samples < 0, ~samples, samples)
    interval = np.minimum(np.searchsorted(decisions, magnitude, side="right"), 127)
    ours = encode(jnp.asarray(samples / 32768, jnp.float32))
    assert ours.dtype == jnp.uint8
    np.testing.assert_array_equal(ours, codes(interval, samples < 0))


@pytest.mark.parametrize("law", LAWS)
def test_every_code_comes_back(law):
    encode, decode, *_ = LAWS[law]
    every = np.arange(256).astype(np.uint8)
    back = np.asarray(encode(decode(jnp.asarray(every))))
    # The mu-law has a negative zero.
    np.testing.assert_array_equal(back, np.where((law == "mu") & (every == 0x7F), 0xFF, every))


@pytest.mark.parametrize("law", LAWS)
def test_samples_between_integers_and_beyond_full_scale(law):
    encode, decode, decisions, *_ = LAWS[law]
    edge = float(decisions[40])
    around = jnp.asarray(np.array([edge - 0.01, edge + 0.01, -edge + 0.01, -edge - 0.01]) / 32768, jnp.float32)
    codes = np.asarray(encode(around)).astype(int)
    assert codes[0] != codes[1] and codes[2] != codes[3]
    loudest = np.asarray(decode(encode(jnp.asarray([1e4, 1.0, -1.0, -1e4]))))
    assert loudest[0] == loudest[1] == -loudest[2] == -loudest[3] > 0.97


@pytest.mark.parametrize("factory, name", [(mu_law, "mu_law"), (a_law, "a_law")])
def test_ops_code_the_valid_samples(factory, name, rng):
    wave = np.append(rng.normal(0, 0.2, 50), [np.nan] * 4).astype(np.float32)
    op = factory()
    out = jax.jit(op.apply)(op.draw(jax.random.key(0), None), Clip(jnp.asarray(wave), jnp.int32(50)))
    assert op.name == name
    np.testing.assert_allclose(out.wave[:50], wave[:50], rtol=0.04, atol=3e-4)
    assert (np.asarray(out.wave[:50]) != wave[:50]).any()
    np.testing.assert_array_equal(out.wave[50:], 0)
