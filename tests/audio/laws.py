"""What the laws of `test_laws.py` share: clips of odd lengths, compiled programs, and how results are compared."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxkit import Batch, Clip, Features, Op, batch, stateless
from tests.audio.catalogue import Entry

SAMPLES = 8000
LENGTHS = (8000, 6500, 7999, 4001, 401, 1, 0, 7000)
FRAMES = 48
FRAME_LENGTHS = (48, 31, 47, 1, 0, 7, 24, 40)
BINS = 12
IDS = np.arange(len(LENGTHS))
MEMBERS = (1, 4)
KEY = 3


@functools.cache
def op(entry: Entry) -> Op:
    """The op of an entry, built once; a plain function of a clip is lifted."""
    made = entry.recipe()
    return made if isinstance(made, Op) else stateless(made)


@functools.cache
def mapped(entry: Entry) -> Batch:
    """Its compiled form, shared by all tests."""
    return batch(op(entry))


@functools.cache
def single(entry: Entry):
    """Its compiled form for one example."""
    return jax.jit(op(entry).apply)


@functools.cache
def noisy(size: int = SAMPLES) -> np.ndarray:
    """`[B, T]` float32: tones that swell in noise."""
    rng = np.random.default_rng(7)
    time = np.arange(size) / 16000
    pitch = rng.uniform(100, 3000, (len(LENGTHS), 1))
    tone = 0.3 * np.sin(2 * np.pi * pitch * time) * np.sin(2 * np.pi * 3 * time + 1)
    return (tone + rng.normal(0, 0.05, tone.shape)).astype(np.float32)


def examples(entry: Entry, *, beyond: float = 0.0):
    """A batch whose members have the true extents `LENGTHS`, with `beyond` in the padding."""
    if entry.kind == "features":
        values = np.random.default_rng(8).normal(-3, 2, (len(LENGTHS), FRAMES, BINS)).astype(np.float32)
        outside = np.arange(FRAMES)[None, :, None] >= np.array(FRAME_LENGTHS)[:, None, None]
        return Features(
            jnp.asarray(np.where(outside, np.float32(beyond), values)), jnp.asarray(FRAME_LENGTHS, jnp.int32)
        )
    outside = np.arange(SAMPLES)[None] >= np.array(LENGTHS)[:, None]
    wave = np.where(outside, np.float32(beyond), noisy())
    return Clip(jnp.asarray(wave), jnp.asarray(LENGTHS, jnp.int32))


def content(example):
    """The wave or the values of an example, and its length."""
    values = example.wave if isinstance(example, Clip) else example.values
    return values, example.length


def with_content(example, values, length):
    """The example with another content."""
    if isinstance(example, Clip):
        return example.replace(wave=values, length=length)
    return example.replace(values=values, length=length)


@functools.cache
def drawn(entry: Entry):
    """Params of every member; the members' draws differ."""
    return mapped(entry).draw(jax.random.key(KEY), IDS, examples(entry))


@functools.cache
def result(entry: Entry):
    """What the compiled batch makes of `examples(entry)`."""
    return mapped(entry).apply(drawn(entry), examples(entry))


def member(tree, index: int):
    """One example of a batch, in NumPy."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[index], tree)


def cut(example):
    """A member without its padding, and with the length left out."""
    values, length = content(example)
    return with_content(example, jnp.asarray(np.asarray(values)[: int(length)]), None)


def extreme() -> np.ndarray:
    """`[B, T]` float32: silence, constants, denormals, faint and loud sound, an impulse, and the fastest change."""
    waves = np.zeros((len(LENGTHS), SAMPLES), np.float32)
    sign = np.where(np.arange(SAMPLES) % 2, -1.0, 1.0)
    waves[1:] = [
        np.ones(SAMPLES),
        sign * 1e4,
        sign * 1e-40,
        noisy()[3] * 1e-30,
        noisy()[4] * 1e4,
        sign * 0,
        -np.ones(SAMPLES) * 1e4,
    ]
    waves[6, 4000] = 1.0
    return waves


def extremes(entry: Entry):
    """A batch of `extreme` contents."""
    example = examples(entry)
    if entry.kind == "features":
        values = extreme()[:, : FRAMES * BINS].reshape(-1, FRAMES, BINS)
        return example.replace(values=jnp.asarray(values), length=jnp.full((len(IDS),), FRAMES, jnp.int32))
    return example.replace(wave=jnp.asarray(extreme()), length=jnp.full((len(IDS),), SAMPLES, jnp.int32))


def assert_close(left, right, slack: float) -> None:
    """The valid parts of two examples agree; their paddings may differ in size."""
    (a, m), (b, n) = content(left), content(right)
    m, n = (len(v) if length is None else int(length) for v, length in ((a, m), (b, n)))
    assert m == n
    np.testing.assert_allclose(np.asarray(a)[:m], np.asarray(b)[:n], rtol=slack, atol=slack)
