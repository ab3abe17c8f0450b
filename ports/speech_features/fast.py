"""The same preparation with jaxkit: recipes for one clip, compiled for batches.

    features, skipped = prepare(jax.random.key(0), files, noises)  # `[frames, 80]` for each file, in their order

`slow.py` holds the program that it replaces. `plan.py` chooses the batches, `loading.py` decodes them. A thread takes
one batch after another from file to features: while the device computes for one, others decode.
"""

from collections.abc import Sequence
from functools import cache, partial
from threading import Lock
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxkit import Batch, Clip, Features, batch, chain, stateless
from jaxkit.audio import Bank, add_noise, resample, trim, whisper_log_mel

from .files import Skipped
from .loading import Loaded, load, planned, threads
from .plan import Group

RATE = 16000
TOP_DB = 40.0
SNR_DB = (5.0, 20.0)
DRAWN = 256  # files whose draws are made at once
STARTING = Lock()  # a program is compiled by the first thread that needs it, the others wait

TO_16K = batch(stateless(partial(resample, rate=RATE)))


@cache
def recipe(noises: tuple[str, ...]) -> Batch:
    """From clips at 16 kHz to features, with recordings of noise as background."""
    steps = (
        stateless(partial(trim, top_db=TOP_DB)),
        add_noise(bank=bank_of(noises), snr_db=SNR_DB),
        stateless(partial(whisper_log_mel, pad_to=None)),
    )
    return batch(chain(*steps))


class Prepared(NamedTuple):
    """One entry for each file: its features `[frames, 80]` float32, or None for a file that is among the skipped."""

    features: list[np.ndarray | None]
    skipped: list[Skipped]


def prepare(key: jax.Array, files: Sequence[str], noises: Sequence[str]) -> Prepared:
    """Features of sound files, mixed with recordings of noise. A file's result depends on the key and its place only.

    Args:
      key: a typed key; fold the epoch into it.
      files: paths; what cannot be used is skipped and named.
      noises: paths of the recordings; they are read at the first call and kept.
    """
    make = recipe(tuple(noises))
    params = drawn(make, key, len(files))
    features: list[np.ndarray | None] = [None] * len(files)
    with threads() as pool:
        groups, bad = planned(files, pool)
        for group, (loaded, rows) in zip(groups, pool.map(partial(prepare_group, make, params), groups), strict=True):
            bad |= loaded.skipped
            for index, values in zip(group.ids.tolist(), rows, strict=True):
                features[index] = None if index in bad else values
    return Prepared(features, [bad[index] for index in sorted(bad)])


def drawn(make: Batch, key: jax.Array, count: int) -> Any:
    """The random choices for files 0 to `count` and some more, leaves `[n]`: they do not depend on the sound."""
    spec = Clip(jax.ShapeDtypeStruct((DRAWN, RATE), np.float32), jax.ShapeDtypeStruct((DRAWN,), np.int32))
    starts = range(0, max(count, 1), DRAWN)
    parts = [make.draw(key, np.arange(start, start + DRAWN), spec) for start in starts]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def prepare_group(make: Batch, params: Any, group: Group) -> tuple[Loaded, list[np.ndarray]]:
    """One batch, from its files to the features of its files."""
    loaded = load(group)
    with STARTING:
        result = start(make, params, loaded)
    return loaded, cut(result.values, result.length)[: len(group.ids)]


def start(make: Batch, params: Any, loaded: Loaded) -> Features:
    """Has the device begin with a batch, and does not wait for it."""
    return make.apply(jax.tree.map(lambda leaf: leaf[loaded.ids], params), to_16k(loaded.clips))


def to_16k(clips: Clip) -> Clip:
    return clips if clips.rate == RATE else TO_16K.apply((), clips)


def cut(values: jax.Array, length: jax.Array) -> list[np.ndarray]:
    """Waits for a padded batch `[rows, n, ...]` and gives each row as far as it is valid."""
    values, length = np.asarray(values), np.asarray(length)
    return [row[:count].copy() for row, count in zip(values, length, strict=True)]


@cache
def bank_of(noises: tuple[str, ...]) -> Bank:
    """The recordings at 16 kHz, read once and kept.

    Raises:
      ValueError: if one of them cannot be used.
    """
    waves: dict[int, np.ndarray] = {}
    with threads() as pool:
        groups, bad = planned(noises, pool)
        for group, loaded in zip(groups, pool.map(load, groups), strict=True):
            bad |= loaded.skipped
            clips = to_16k(loaded.clips)
            waves |= dict(zip(group.ids.tolist(), cut(clips.wave, clips.length), strict=False))
    if bad:
        raise ValueError(f"noises that cannot be used: {'; '.join(f'{path}: {why}' for path, why in bad.values())}")
    return Bank.from_waves([waves[index] for index in sorted(waves)], rate=RATE, names=noises)
