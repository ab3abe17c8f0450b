"""The points of a join: their grids on the devices, and the blocks of bodies that are sent over them."""

import collections
import dataclasses
import functools
from collections.abc import Callable, Collection, Iterator

import jax
import numpy as np

from jaxkit.sampling.anchor import Position
from jaxkit.sampling.grid import COLUMNS, Grid, build_grid, capacity, taken_rows
from jaxkit.sampling.levels import LARGEST
from jaxkit.sampling.pairs import NOBODY, Block, candidates, join

AHEAD = 3
"""Calls that may be under way while the host prepares the next block."""
GRID, WHOLE, PART, TEST = 130.0, 30.0, 200.0, 20.0
"""Nanoseconds, measured on one core: a point of a grid, a body in a grid too coarse (over 5), a part, a test."""
COMPILE = 5e8
"""Nanoseconds that the program for parts takes to compile: not worth it in small joins."""
MOST_OF = 0.9
Key = tuple[int, int]


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
      rent: by key, what was spent so far on doing without that grid, in nanoseconds.
      tests: of long bodies as a whole, that parts could have spared.
      below: points whose sources are of a level or lower, by level.
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
    rent: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(float))
    tests: int = 0
    below: np.ndarray | None = None
    tallies: dict = dataclasses.field(default_factory=dict)
    waiting: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))
    running: collections.deque = dataclasses.field(default_factory=collections.deque)

    def grid(self, key: Key) -> Grid | None:
        """The grid of a key, built when it is first asked for; None without points."""
        if key not in self.grids:
            chosen = np.flatnonzero(self.level <= key[1]).astype(np.int32)
            self.grids[key] = self._built(key[0], chosen) if len(chosen) else (None, chosen)
        return self.grids[key][0]

    def key_for(self, level: int, bodies: int, *, others: Collection[int] = ()) -> Key:
        """The grid in which bodies of a level are looked up whole.

        While they are few, that is a coarser one, which is there or will be needed for `others`, levels that follow.
        """
        own = level, self._ceiling(level)
        for up in (1, 2):
            coarser = self._there(level + up, own[1])
            if level + up in others:
                coarser = coarser or (level + up, self._ceiling(level + up))
            if own not in self.grids and coarser and self._is_cheap(own, bodies * WHOLE * 5.0**up):
                return coarser
        return own

    def finer(self, level: int, bodies: int) -> int | None:
        """The level of a finer grid that is there, if bodies are so few that it is best to look up their parts in it.

        Only grids that hold every point will do.
        """
        own = level, self._ceiling(level)
        for down in (1, 2):
            parts = bodies * 0.6 * 2.0 ** (3 * down + 3)
            there = own not in self.grids and self._there(level - down, LARGEST)
            if there and self._is_cheap(own, parts * PART, at_once=COMPILE):
                return level - down
        return None

    def key_for_parts(self, level: int) -> Key:
        """The grid, of every point, in which parts of a level are looked up."""
        there = (self._there(level + up, LARGEST) for up in range(3))
        return next(filter(None, there), (level, LARGEST))

    def worth_parts(self, levels: np.ndarray, tests: int) -> bool:
        """Whether the tests of long bodies that were asked for so far cost more than grids for their parts would."""
        self.tests += tests
        missing = sum(self.key_for_parts(int(level)) not in self.grids for level in levels)
        return self.tests * TEST > COMPILE + missing * GRID * len(self.level)

    def candidates(self, key: Key, block: Block) -> np.ndarray:
        """How many points bodies would be tested against, `[BLOCK]` int32."""
        return np.asarray(_counter()(self.grid(key), block, np.float32(self.step)))

    def send(self, key: Key, block: Block) -> None:
        """Joins a block with the points of a grid. Returns before that is done."""
        self.grid(key)
        key = *key, int(block.level) if self.counted == "owner" else 0
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
        """For "prior" the ceiling, unless nearly all points are below it; larger sources than that fail the test."""
        below = self.counted == "prior" and self._points(ceiling) < MOST_OF * len(self.level)
        return ceiling if below else LARGEST

    def _points(self, ceiling: int) -> int:
        if self.below is None:
            self.below = np.cumsum(np.bincount(self.level, minlength=LARGEST + 1))
        return int(self.below[ceiling])

    def _there(self, level: int, ceiling: int) -> Key | None:
        """The key of a grid that has been built, for this level, with at least the points up to a ceiling."""
        fits = (key for key in self.grids if key[0] == level and key[1] >= ceiling and self.grids[key][0] is not None)
        return min(fits, default=None)

    def _is_cheap(self, own: Key, cost: float, *, at_once: float = 0.0) -> bool:
        """Whether going on without a grid of their own, for bodies that come bit by bit, has cost less than one."""
        self.rent[own] += cost
        return self.rent[own] + at_once < GRID * self._points(own[1])

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
            block = jax.device_put(block, _placed(self.mesh, shared=False))
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
