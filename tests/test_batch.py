"""Keys, replay, devices, and what is said about wrong arguments."""

import importlib
import io
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkit import Batch, Op, Sample, batch, chain, image, warp
from tests.catalogue import ALL
from tests.contract import IDS, assert_same, drawn, mapped, op, pictures, result, spec_of

CHUNKED = [entry for entry in ALL if entry.name in ("rotate", "gaussian_noise", "maybe_compacted")]
ONE = next(entry for entry in ALL if entry.name == "maybe_compacted")


@pytest.fixture(scope="module")
def mesh():
    """Eight simulated devices in a row."""
    assert jax.device_count() >= 8
    return jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,), devices=jax.devices()[:8])


@pytest.mark.parametrize("entry", ALL, ids=[entry.name for entry in ALL])
def test_replay_gives_the_same_bits(entry):
    params = mapped(entry).draw(jax.random.key(3), IDS, spec_of(pictures("uint8")))
    assert_same(params, drawn(entry))
    leaves, structure = jax.tree.flatten(params)
    file = io.BytesIO()
    np.savez(file, *map(np.asarray, leaves))
    file.seek(0)
    with np.load(file) as saved:
        loaded = jax.tree.unflatten(structure, [saved[f"arr_{index}"] for index in range(len(leaves))])
    unpickled = pickle.loads(pickle.dumps(jax.tree.map(np.asarray, params)))
    for again in (loaded, unpickled):
        assert_same(mapped(entry).apply(again, pictures("uint8")), result(entry, "uint8"))


@pytest.mark.slow
@pytest.mark.parametrize("entry", ALL, ids=[entry.name for entry in ALL])
def test_eight_devices_give_the_bits_of_one(entry, mesh):
    """Each device holds a batch of one, so this also shows that results do not depend on the size of the batch."""
    spread = batch(op(entry), mesh=mesh)
    params = spread.draw(jax.random.key(3), IDS, pictures("uint8"))
    assert_same(params, drawn(entry))
    out = spread.apply(params, pictures("uint8"))
    assert_same(out, result(entry, "uint8"))
    assert len(out.image.sharding.device_set) == 8


def test_a_mesh_of_two_axes_spreads_over_both(mesh):
    grid = jax.sharding.Mesh(mesh.devices.reshape(2, 4), ("host", "chip"))
    f, samples = batch(image.gaussian_noise(), mesh=grid), pictures("uint8")
    out = f(jax.random.key(0), IDS, samples)
    assert_same(out, batch(image.gaussian_noise())(jax.random.key(0), IDS, samples))
    assert {shard.data.shape[0] for shard in out.image.addressable_shards} == {1}


@pytest.mark.parametrize("entry", CHUNKED, ids=[entry.name for entry in CHUNKED])
def test_large_batches_are_worked_off_in_chunks_with_the_same_result(entry, monkeypatch):
    samples, ids = pictures("uint8", count=7), np.arange(7)
    whole = mapped(entry)(jax.random.key(3), ids, samples)
    monkeypatch.setattr(importlib.import_module("jaxkit.batch"), "CHUNK_BYTES", 3 * samples.image[0].nbytes)
    chunked = batch(op(entry))
    params = chunked.draw(jax.random.key(3), ids, samples)
    used = jax.jit(chunked.apply).lower(params, samples).as_text()
    assert "stablehlo.while" in used
    assert_same(chunked.apply(params, samples).image, whole.image)


def test_a_batch_of_one_is_the_first_of_many():
    f, first = batch(ONE.recipe()), jax.tree.map(lambda leaf: leaf[:1], pictures("uint8"))
    out = f(jax.random.key(3), IDS[:1], first)
    np.testing.assert_array_equal(out.image, result(ONE, "uint8").image[:1])


def test_each_example_draws_with_its_own_id():
    f, spec = batch(warp.rotate()), Sample(jax.ShapeDtypeStruct((4, 8, 8, 3), "uint8"))
    (turns,) = f.draw(jax.random.key(0), [7, 2**32 - 1, 7, 0], spec)
    assert turns[0] == turns[2] and len(set(turns.tolist())) == 3
    for index, number in enumerate((7, 2**32 - 1)):
        (alone,) = warp.rotate().draw(jax.random.fold_in(jax.random.key(0), np.uint32(number)), spec)
        np.testing.assert_allclose(turns[index], alone, rtol=1e-6)


def test_ids_may_come_from_any_library():
    f, spec = batch(warp.rotate()), Sample(jax.ShapeDtypeStruct((2, 8, 8, 3), "uint8"))
    kinds = ([3, 4], np.array([3, 4]), np.array([3, 4], np.uint8), jnp.array([3, 4]), jnp.array([3, 4], jnp.uint32))
    draws = [f.draw(jax.random.key(0), ids, spec) for ids in kinds]
    for other in draws[1:]:
        assert_same(other, draws[0])


def test_the_call_is_apply_of_draw():
    f, samples = batch(warp.rotate()), pictures("uint8")
    assert isinstance(f, Batch)
    assert_same(f(jax.random.key(1), IDS, samples), f.apply(f.draw(jax.random.key(1), IDS, samples), samples))


def test_host_arrays_are_taken_as_they_are():
    f, samples = batch(image.invert(p=1.0)), Sample(np.zeros((2, 4, 4, 1), np.uint8))
    assert (np.asarray(f(jax.random.key(1), [0, 1], samples).image) == 255).all()


def test_other_trees_than_samples_can_be_mapped():
    f = batch(image.invert(p=1.0)._replace(apply=lambda params, example: {"twice": example["wave"] * 2}))
    assert f(jax.random.key(0), [0, 1], {"wave": jnp.ones((2, 5))})["twice"].shape == (2, 5)


TWO = Sample(np.zeros((2, 4, 4, 1), np.uint8))
WRONG = {
    "ids of rank 2": (lambda: [[0, 1]], TWO, r"\[B\] integers.*\(1, 2\)"),
    "a number for ids": (lambda: 2, TWO, r"\[B\] integers.*\(\)"),
    "floating ids": (lambda: [0.0, 1.0], TWO, r"integers.*float64"),
    "negative ids": (lambda: [-1, 0], TWO, r"-1"),
    "ids of 64 bits": (lambda: [0, 2**40], TWO, str(2**40)),
    "too many ids": (lambda: [0, 1, 2], TWO, r"\.image must have 3 members"),
    "a leaf without an axis": (lambda: [0, 1], TWO.replace(points=np.float32(3)), r"\.points must have 2"),
    "a short leaf": (lambda: [0, 1], TWO.replace(mask=np.zeros((1, 4, 4))), r"\.mask must have 2"),
    "a leaf of text": (lambda: [0, 1], TWO.replace(mask="labels"), r"\.mask.*str"),
}


@pytest.mark.parametrize("ids, samples, message", WRONG.values(), ids=WRONG)
def test_wrong_arguments_are_named(ids, samples, message):
    with pytest.raises(ValueError, match=message):
        batch(image.gamma())(jax.random.key(0), ids(), samples)


@pytest.mark.parametrize("key", [lambda: jax.random.PRNGKey(0), lambda: 0, lambda: None], ids=["raw", "int", "none"])
def test_keys_are_typed(key):
    with pytest.raises(TypeError, match=r"jax\.random\.key\(0\)"):
        batch(image.gamma()).draw(key(), [0, 1], TWO)


def test_a_batch_must_divide_over_the_devices(mesh):
    with pytest.raises(ValueError, match="10 does not divide over 8 devices"):
        batch(image.gamma(), mesh=mesh)(jax.random.key(0), np.arange(10), pictures("uint8", count=10))


def test_params_of_another_size_are_refused():
    f = batch(image.gamma())
    params = f.draw(jax.random.key(0), [0, 1], TWO)
    with pytest.raises(ValueError):
        f.apply(params, pictures("uint8", count=3))


def test_large_arrays_that_an_op_holds_are_no_constants(programs, mesh):
    bank = jnp.arange(2**19, dtype=jnp.float32)
    plain = Op(lambda key, spec: jax.random.randint(key, (), 0, 2**19), lambda index, x: x + bank[index], "look_up")
    held, embedded = batch(chain(plain._replace(holds=True))), batch(chain(plain))
    key, ids, zeros = jax.random.key(0), np.arange(8), np.zeros((8,), np.float32)
    assert_same(held(key, ids, zeros), embedded(key, ids, zeros))
    before = len(programs)
    held(key, ids + 1, zeros + 1)
    assert programs[before:] == []
    inputs = [
        [var.aval.shape for var in _calls(f.apply, (held.draw(key, ids, zeros), zeros))] for f in (held, embedded)
    ]
    assert [(2**19,) in shapes for shapes in inputs] == [True, False]
    assert_same(batch(chain(plain._replace(holds=True)), mesh=mesh)(key, ids, zeros), held(key, ids, zeros))


def _calls(function, arguments):
    return jax.make_jaxpr(function)(*arguments).eqns[-1].invars
