"""The one place where ops meet a batch: keys, `vmap`, `jit` and devices."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit.op import Op

CHUNK_BYTES = 2**25
HELD_BYTES = 2**20
AXIS, ALL = "split", "whole"


@dataclasses.dataclass(frozen=True)
class Batch:
    """A compiled op over a batch, made by `batch`.

    `f(key, ids, examples)` is `f.apply(f.draw(key, ids, examples), examples)`.

    Attributes:
      draw: `(key, ids, examples or their specs) -> params`, every leaf with a leading axis B. For logging.
      apply: `(params, examples) -> examples`. Logged params give the same bits again.
    """

    draw: Callable[[jax.Array, Any, Any], Any]
    apply: Callable[[Any, Any], Any]

    def __call__(self, key: jax.Array, ids: Any, examples: Any) -> Any:
        """Draws with `fold_in(key, id)` for each of `ids` `[B]`, and applies."""
        return self.apply(self.draw(key, ids, examples), examples)


def batch(op: Op, *, mesh: jax.sharding.Mesh | None = None) -> Batch:
    """Compiles `op` for batches: `f(key, ids, examples) -> examples`.

    Every example draws with `fold_in(key, id)`: its result does not depend on its place in the batch, on the batch
    size or on the number of devices. Fold the epoch into `key`, and let `ids` number the data set. Drawing and applying
    are two programs, so that replayed params give the bits that the call gave. Batches of over 32 MiB are computed in
    parts, which bounds the memory for intermediate results.

    Args:
      op: acts on one example.
      mesh: spreads the batch over all devices of the mesh, along the leading axis. Default: one device.

    Returns:
      A `Batch`. Leaves of `examples` have a leading axis B; `ids` is `[B]` integer; `key` is a typed key.

    Raises:
      ValueError: when built, if `op` is not an `Op`; when called, if `ids` and the leaves of `examples` disagree
        about B, or B is not a multiple of the number of devices.
      TypeError: when called, if `key` is not a typed key (`jax.random.key(0)`).
    """
    if not isinstance(op, Op):
        raise ValueError(f"batch takes an op, got {op!r}. Call the factory: rotate(), not rotate; or use stateless")
    compiled = _with_held if op.holds else jax.jit
    apply = compiled(_spread(functools.partial(_apply, op), mesh, (AXIS, AXIS)))
    draw = jax.jit(functools.partial(_draw, op, mesh), static_argnums=(2, 3))

    def draw_checked(key, ids, examples):
        ids = _check_ids(key, ids)
        _check_leaves(examples, ids.shape[0], mesh)
        leaves, structure = jax.tree.flatten(examples)
        specs = tuple(jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype) for leaf in leaves)
        return draw(_placed(key, mesh, ALL), _placed(ids, mesh, AXIS), structure, specs)

    def apply_placed(params, examples):
        return apply(*_placed((params, examples), mesh, AXIS))

    return Batch(draw_checked, apply if mesh is None else apply_placed)


def _with_held(function: Callable) -> Callable:
    """`jax.jit(function)`, with the large arrays that `function` closes over as arguments of its programs.

    As constants they would be copied into the text and into the executable of every shape.
    """

    @functools.cache
    def program(structure: Any, specs: tuple) -> tuple:
        traced, shapes = jax.make_jaxpr(function, return_shape=True)(*jax.tree.unflatten(structure, specs))
        held = {i: const for i, const in enumerate(traced.consts) if getattr(const, "nbytes", 0) >= HELD_BYTES}

        def run(held: dict, *leaves: Any) -> list:
            consts = [held.get(i, const) for i, const in enumerate(traced.consts)]
            return jax.core.eval_jaxpr(traced.jaxpr, consts, *leaves)

        return jax.jit(run), held, jax.tree.structure(shapes)

    def call(*arguments: Any) -> Any:
        leaves, structure = jax.tree.flatten(arguments)
        run, held, result = program(structure, tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves))
        return jax.tree.unflatten(result, run(held, *leaves))

    return call


def _apply(op: Op, params: Any, examples: Any) -> Any:
    leaves = jax.tree.leaves(examples)
    size, bytes_in_all = leaves[0].shape[0], sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)
    chunks = -(-bytes_in_all // CHUNK_BYTES)
    if chunks <= 1:
        return jax.vmap(op.apply)(params, examples)
    return jax.lax.map(lambda pair: op.apply(*pair), (params, examples), batch_size=-(-size // chunks))


def _draw(op: Op, mesh: Any, key: jax.Array, ids: jax.Array, structure: Any, leaves: tuple) -> Any:
    spec = jax.tree.unflatten(structure, leaves)

    def draw(key, ids):
        return jax.vmap(lambda i: op.draw(jax.random.fold_in(key, i), spec))(ids)

    return _spread(draw, mesh, (ALL, AXIS))(key, ids)


def _spread(function: Callable, mesh: Any, parts: tuple) -> Callable:
    """`function` on each device's part of the batch; arguments are split (`AXIS`) or whole (`ALL`)."""
    if mesh is None:
        return function
    specs = tuple(_partition(mesh, part) for part in parts)
    return jax.shard_map(function, mesh=mesh, in_specs=specs, out_specs=_partition(mesh, AXIS), check_vma=False)


def _placed(tree: Any, mesh: Any, part: str) -> Any:
    return tree if mesh is None else jax.device_put(tree, jax.sharding.NamedSharding(mesh, _partition(mesh, part)))


def _partition(mesh: Any, part: str) -> jax.sharding.PartitionSpec:
    return jax.sharding.PartitionSpec(mesh.axis_names) if part == AXIS else jax.sharding.PartitionSpec()


def _check_ids(key: jax.Array, ids: Any) -> Any:
    if not jnp.issubdtype(getattr(key, "dtype", np.dtype(float)), jax.dtypes.prng_key):
        raise TypeError(f"batch needs a typed key such as jax.random.key(0), got {key!r}")
    ids = ids if isinstance(ids, jax.Array) else np.asarray(ids)
    if ids.ndim != 1 or not jnp.issubdtype(ids.dtype, jnp.integer):
        raise ValueError(f"ids must be [B] integers, got shape {ids.shape} of {ids.dtype}")
    if isinstance(ids, np.ndarray) and ids.size and (ids.min() < 0 or ids.max() >= 2**32):
        raise ValueError(f"ids must lie in [0, 2**32), got {ids.min()} to {ids.max()}")
    return ids.astype(np.uint32)


def _check_leaves(examples: Any, size: int, mesh: Any) -> None:
    for path, leaf in jax.tree_util.tree_leaves_with_path(examples):
        if not hasattr(leaf, "shape") or not leaf.shape or leaf.shape[0] != size:
            found = getattr(leaf, "shape", type(leaf).__name__)
            raise ValueError(f"{jax.tree_util.keystr(path)} must have {size} members, one per id; its shape is {found}")
    if mesh is not None and size % mesh.size:
        raise ValueError(f"a batch of {size} does not divide over {mesh.size} devices; pad it to a multiple")
