"""Trimming against librosa, on speech."""

import jax
import jax.numpy as jnp
import librosa
import numpy as np
import pytest

from jaxkit import Clip
from jaxkit.audio.trim import sounding, trim
from tests.audio.speech import clips

HOP, SIZE = 512, 180_000
LEVELS = (20.0, 35.0, 60.0)
CUT = {top_db: jax.jit(lambda clip, top_db=top_db: trim(clip, top_db=top_db)) for top_db in LEVELS}
ENDS = {top_db: jax.jit(lambda clip, top_db=top_db: sounding(clip, top_db=top_db)) for top_db in LEVELS}


def _padded(wave):
    return Clip(jnp.asarray(np.pad(wave, (0, SIZE - len(wave)), constant_values=np.nan)), jnp.int32(len(wave)))


@pytest.mark.parametrize("top_db", LEVELS)
def test_trim_is_librosas(top_db):
    for name, wave in clips()[:4]:
        wave = np.concatenate([np.zeros(3000, np.float32), wave, np.zeros(7001, np.float32)])[:SIZE]
        expected, (first, last) = librosa.effects.trim(wave, top_db=top_db)
        ours = CUT[top_db](_padded(wave))
        assert abs(int(ours.length) - len(expected)) <= HOP, name
        at = int(ENDS[top_db](_padded(wave))[0])
        assert abs(at - first) <= HOP, name
        np.testing.assert_array_equal(ours.wave[: int(ours.length)], wave[at : at + int(ours.length)], err_msg=name)
        np.testing.assert_array_equal(ours.wave[int(ours.length) :], 0)


def test_most_cuts_are_exactly_librosas():
    same = 0
    for _, wave in clips()[:4]:
        _, expected = librosa.effects.trim(wave[:SIZE], top_db=35.0)
        same += [int(end) for end in ENDS[35.0](_padded(wave[:SIZE]))] == list(expected)
    assert same >= 3


@pytest.mark.parametrize("factor", [1e-30, 1e-3, 1e4])
def test_the_gain_does_not_matter(factor):
    wave = np.concatenate([np.zeros(5000), clips()[0][1][:60_000], np.zeros(5000)]).astype(np.float32)
    lengths = {int(CUT[35.0](_padded(wave * np.float32(scale))).length) for scale in (1.0, factor)}
    assert len(lengths) == 1


def test_silence_has_no_length():
    for wave in (np.zeros(20_000, np.float32), np.zeros(0, np.float32)):
        out = CUT[60.0](_padded(wave))
        assert int(out.length) == 0
        np.testing.assert_array_equal(out.wave, 0)


@pytest.mark.parametrize("width, hop", [(400, 160), (101, 7)])
def test_an_impulse_leaves_the_frames_that_see_it(width, hop):
    wave = np.zeros(6000, np.float32)
    wave[3000] = 1
    _, expected = librosa.effects.trim(wave, top_db=60, frame_length=width, hop_length=hop)
    ours = jax.jit(lambda clip: sounding(clip, width=width, hop=hop))(Clip(jnp.asarray(wave)))
    assert [int(end) for end in ours] == list(expected)


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="top_db"):
        trim(Clip(jnp.ones(9)), top_db=-1)
    with pytest.raises(ValueError, match="width"):
        trim(Clip(jnp.ones(9)), hop=0)
    with pytest.raises(TypeError, match="divide int16"):
        trim(Clip(jnp.ones(9, jnp.int16)))
