"""The points of a join: their grids on the devices, and the blocks of bodies that are sent over them."""

import collections
import dataclasses
import functools
from collections.abc import Callable, Iterator

import jax
import numpy as np

from jaxkit.sampling.anchor import Position
from jaxkit.sampling.grid import COLUMNS, Grid, build_grid, capacity, taken_rows
from jaxkit.sampling.levels import LARGEST
from jaxkit.sampling.pairs import NOBODY, Block, candidates, join

AHEAD = 3
"""Calls that may be under way while the host prepares the next block."""


@dataclasses.dataclass
class Shelf:
    """The points of one join, and what was found for them so far.

    Attributes:
      step: of the anchor.
      position: `[T]` places on the host.
      source: `[T]` int32, the body that a point was drawn from.
      level: `[T]` int32, the level of that body.
      counted: "any", "other", "prior" or "owner", see `pairs.join`.
      mesh: devices that share the blocks, or None.
      grids: by (level, ceiling): the points whose sources are of level `ceiling` at most, and their indices.
      tallies: by (level, ceiling, level of the bodies, which matters to owners only): the tally on the devices.
      waiting: by the same and their kind, blocks that wait for others, until there is one for each device.
    """

    step: float
    position: Position
    source: np.ndarray
    level: np.ndarray
    counted: str
    mesh: jax.sharding.Mesh | None = None
    grids: dict = dataclasses.field(default_factory=dict)
    tallies: dict = dataclasses.field(default_factory=dict)
    waiting: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))
    running: collections.deque = dataclasses.field(default_factory=collections.deque)

    def grid(self, level: int, ceiling: int) -> Grid | None:
        """The grid of bodies of a level whose points have sources of level `ceiling` at most; None without points."""
        key = level, self._ceiling(ceiling)
        if key not in self.grids:
            chosen = np.flatnonzero(self.level <= key[1]).astype(np.int32)
            self.grids[key] = self._built(level, chosen) if len(chosen) else (None, chosen)
        return self.grids[key][0]

    def candidates(self, level: int, block: Block) -> np.ndarray:
        """How many points bodies of a level would be tested against, `[BLOCK]` int32."""
        return np.asarray(_counter()(self.grid(level, level), block, np.float32(self.step)))

    def send(self, level: int, ceiling: int, block: Block) -> None:
        """Joins a block with the points of a grid. Returns before that is done."""
        key = level, self._ceiling(ceiling), int(block.level) if self.counted == "owner" else 0
        alike = *key, block.low is None
        self.waiting[alike].append(block)
        if len(self.waiting[alike]) == self._devices():
            self._run(key, self.waiting.pop(alike))

    def found(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """For each tally the level of its bodies, the indices of its points, and what was found for them."""
        while self.waiting:
            alike, blocks = self.waiting.popitem()
            self._run(alike[:3], blocks)
        for key, tally in self.tallies.items():
            index = self.grids[key[:2]][1]
            merge = np.minimum if self.counted == "owner" else np.add
            parts = np.asarray(tally).reshape(self._devices(), -1)[:, : len(index)]
            yield key[2], index, parts[0] if len(parts) == 1 else merge.reduce(parts, axis=0, dtype=np.int32)

    def _ceiling(self, ceiling: int) -> int:
        return ceiling if self.counted == "prior" else LARGEST

    def _devices(self) -> int:
        return 1 if self.mesh is None else self.mesh.size

    def _built(self, level: int, chosen: np.ndarray) -> tuple[Grid, np.ndarray]:
        position, source, source_level = self.position, self.source, self.level
        if len(chosen) < len(source):
            position = Position(*(taken_rows(np.asarray(leaf), chosen) for leaf in position))
            source, source_level = np.take(source, chosen), np.take(source_level, chosen)
        room = capacity(len(self.source))
        grid, order = build_grid(position, source, source_level, level, self.step, room)
        return jax.device_put(grid, _placed(self.mesh, shared=True)), chosen[order]

    def _run(self, key: tuple[int, int, int], blocks: list[Block]) -> None:
        grid = self.grids[key[:2]][0]
        if self.mesh is None:
            block = blocks[0]
        else:
            blocks += [jax.tree.map(np.zeros_like, blocks[0])] * (self._devices() - len(blocks))
            block = jax.tree.map(lambda *leaves: np.stack(leaves), *blocks)
        tally = self.tallies.pop(key) if key in self.tallies else self._empty(grid)
        self.tallies[key], done = _program(self.counted, self.mesh)(grid, tally, block, np.float32(self.step))
        self.running.append(done)
        if len(self.running) > AHEAD:
            self.running.popleft().block_until_ready()

    def _empty(self, grid: Grid) -> jax.Array:
        shape = (grid.rows.shape[0] // COLUMNS,)
        shape = shape if self.mesh is None else (self._devices(), *shape)
        fill = NOBODY if self.counted == "owner" else 0
        return jax.device_put(np.full(shape, fill, np.int32), _placed(self.mesh, shared=False), may_alias=False)


def _placed(mesh: jax.sharding.Mesh | None, *, shared: bool) -> jax.sharding.Sharding | None:
    """How arrays lie on a mesh: whole on each device, or their first axis spread over all of them."""
    if mesh is None:
        return None
    spec = jax.sharding.PartitionSpec() if shared else jax.sharding.PartitionSpec(mesh.axis_names)
    return jax.sharding.NamedSharding(mesh, spec)


@functools.cache
def _counter() -> Callable:
    return jax.jit(candidates)


@functools.cache
def _program(counted: str, mesh: jax.sharding.Mesh | None) -> Callable:
    run = functools.partial(join, counted=counted)
    if mesh is None:
        return jax.jit(run, donate_argnums=1)

    def each(grid, tally, block, step):
        tally, done = run(grid, tally[0], jax.tree.map(lambda leaf: leaf[0], block), step)
        return tally[None], done[None]

    shared, spread = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec(mesh.axis_names)
    specs = {"in_specs": (shared, spread, spread, shared), "out_specs": (spread, spread), "check_vma": False}
    return jax.jit(jax.shard_map(each, mesh=mesh, **specs), donate_argnums=1)
