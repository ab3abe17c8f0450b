"""Arrays of small integers: what a block loses, how four bits are stored, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit.compress.qarray import packed, quantize_array, unpacked

BLOCKS = [{}, {"channel": 1}, {"channel": -1, "group": (0, 4)}, {"group": (0, 3)}]


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("blocks", BLOCKS, ids=str)
def test_each_block_is_within_half_a_step_of_its_own_scale(rng, bits, blocks):
    x = rng.normal(size=(12, 7)).astype(np.float32) * 10.0 ** rng.integers(-3, 3, (1, 7)).astype(np.float32)
    q = jax.jit(lambda x: quantize_array(x, bits=bits, **blocks))(x)
    most = 2 ** (bits - 1) - 1
    rows, columns = blocks.get("group", (0, 12))[1], 1 if "channel" in blocks else 7
    largest = np.abs(x).reshape(12 // rows, rows, 7 // columns, columns).max(axis=(1, 3))
    np.testing.assert_allclose(q.scale, largest / np.float32(most), rtol=1e-6)
    scale = np.repeat(np.repeat(np.asarray(q.scale), rows, axis=0), columns, axis=1)
    np.testing.assert_array_equal(q.values(), np.rint(x / scale))
    np.testing.assert_array_equal(q.dequantize(), np.asarray(q.values()) * scale)
    assert np.abs(np.asarray(q.values())).max() <= most


def test_a_block_of_zeros_or_of_hardly_anything_is_no_nan():
    x = jnp.zeros((4, 6)).at[:, 1].set(1e-42).at[:, 2].set(3.0)
    for bits in (8, 4):
        back = quantize_array(x, bits=bits, channel=1).dequantize()
        assert np.isfinite(back).all()
        np.testing.assert_array_equal(back[:, [0, 2]], x[:, jnp.array([0, 2])])
    assert quantize_array(jnp.zeros((0, 3)), channel=1).dequantize().shape == (0, 3)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_four_bits_survive_packing(size):
    values = np.resize(np.arange(-8, 8, dtype=np.int8), (16, size))
    stored = packed(jnp.asarray(values))
    assert stored.dtype == jnp.uint8 and stored.shape == (16, (size + 1) // 2)
    np.testing.assert_array_equal(unpacked(stored, size), values, strict=True)
    np.testing.assert_array_equal(np.asarray(stored)[:, 0] & 15, values[:, 0] % 16)


def test_bytes_are_those_in_memory():
    x = jnp.ones((64, 33))
    assert quantize_array(x).nbytes == 64 * 33 + 4
    assert quantize_array(x, bits=4, channel=1).nbytes == 64 * 17 + 4 * 33


def test_it_is_a_pytree_that_maps_and_scans():
    x = jnp.arange(24.0).reshape(2, 3, 4)
    rows = jax.vmap(lambda row: quantize_array(row, channel=1))(x)
    assert rows.stored.shape == (2, 3, 4) and rows.shape == (3, 4)
    np.testing.assert_allclose(jax.vmap(lambda q: q.dequantize())(rows), x, atol=0.1)


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"bits": 3}, "3"),
        ({"channel": 2}, "axis 2"),
        ({"group": (0, 5)}, "do not divide"),
        ({"group": (9, 1)}, "axis 9"),
    ],
)
def test_wrong_blocks_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        quantize_array(jnp.ones((12, 7)), **settings)


def test_four_bits_of_nothing_are_nothing():
    for shape in ((0, 5), (3, 0)):
        q = quantize_array(jnp.zeros(shape), bits=4)
        assert q.values().shape == q.dequantize().shape == shape
