"""Ops of sound together, in one program for a batch of clips that each have settings of their own."""

from functools import partial

import jax
import numpy as np

from jaxkit import Clip, batch, chain, stateless
from jaxkit.audio import low_pass, room_reverb, speed, whisper_log_mel
from tests.audio.laws import noisy

COUNT = 16


def test_sixteen_cut_offs_speeds_and_rooms_compile_once(programs):
    steps = (speed(factor=(0.8, 1.25)), room_reverb(), low_pass(), stateless(partial(whisper_log_mel, pad_to=None)))
    f, ids = batch(chain(*steps)), np.arange(COUNT)
    clips = Clip(np.resize(noisy(), (COUNT, 8000)), np.linspace(4000, 8000, COUNT).astype(np.int32))
    params = f.draw(jax.random.key(0), ids, clips)
    factors, rooms, cut_offs, _ = params
    for drawn in (factors, rooms["room"], *jax.tree.leaves(cut_offs)):
        assert len(np.unique(np.asarray(drawn).reshape(COUNT, -1), axis=0)) == COUNT
    whole = f.apply(params, clips)
    before = len(programs)
    again = f(jax.random.key(1), ids + COUNT, clips)
    assert programs[before:] == []
    assert np.isfinite(whole.values).all() and np.isfinite(again.values).all()
    frames = np.asarray(clips.length) / np.asarray(factors) // 160
    assert np.abs(np.asarray(whole.length) - frames).max() <= 1
